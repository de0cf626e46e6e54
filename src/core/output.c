/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all: which name is replaced, and which is written to. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS = 40, ATTEMPTS = 100 };

/* Follow the links in the last part of `path`, whether or not there is a file at their end. */
static int follow(const char *path, char *target) {
    if (strlen(path) >= PATH_MAX) return ENAMETOOLONG;
    strcpy(target, path);
    for (int count = 0; count < LINKS; count++) {
        char link[PATH_MAX];
        struct stat info;
        if (lstat(target, &info)) return errno == ENOENT ? 0 : errno;
        if (!S_ISLNK(info.st_mode)) return 0;
        const ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0) return errno;
        link[length] = '\0';
        char *slash = link[0] == '/' ? NULL : strrchr(target, '/');
        const size_t folder = slash ? (size_t)(slash - target) + 1 : 0;
        if (folder + (size_t)length >= PATH_MAX) return ENAMETOOLONG;
        strcpy(target + folder, link);
    }
    return ELOOP;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int open_in_place(mpki_output *o, const char *path, int flags) {
    o->target[0] = o->temporary[0] = '\0';
    o->fd = open(path, O_WRONLY | O_CLOEXEC | flags);
    o->close_fd = o->fd >= 0;
    return o->close_fd ? 0 : errno;
}

/* A new file beside the target, with the permissions of what it will replace. */
static int open_beside(mpki_output *o, const struct stat *old) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const int length =
            snprintf(o->temporary, PATH_MAX, "%s.%ld-%d.tmp", o->target, (long)getpid(), attempt);
        if (length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd >= 0) {
            o->close_fd = true;
            /* where this is refused, the new file keeps the permissions of new files */
            if (old && fchmod(o->fd, old->st_mode & 07777)) errno = 0;
            return 0;
        }
        if (errno != EEXIST) break;
    }
    o->temporary[0] = '\0'; /* that file is not ours to remove */
    return errno;
}

int mpki_output_open(mpki_output *o, const char *path) {
    struct stat info, there;
    o->fd = -1;
    o->close_fd = false;
    o->target[0] = o->temporary[0] = '\0';
    const bool exists = !stat(path, &info);
    if (exists && S_ISDIR(info.st_mode)) return EISDIR;
    if (exists && !S_ISREG(info.st_mode)) return open_in_place(o, path, 0);
    const int error = follow(path, o->target);
    if (error) return error;
    /* /dev/stdout and the like: a link to an open file, not a name that could be given to another
     */
    if (exists && (lstat(o->target, &there) || !same_file(&info, &there)))
        return open_in_place(o, path, O_TRUNC);
    if (exists && !fstat(STDOUT_FILENO, &there) && same_file(&info, &there)) {
        o->fd = STDOUT_FILENO;
        o->target[0] = '\0';
        return 0;
    }
    return open_beside(o, exists ? &info : NULL);
}

int mpki_output_write(mpki_output *o, const void *data, size_t size) {
    for (const char *p = data; size > 0;) {
        const ssize_t count = write(o->fd, p, size);
        if (count < 0 && errno != EINTR) return errno;
        if (count < 0) continue;
        p += count;
        size -= (size_t)count;
    }
    return 0;
}

int mpki_output_close(mpki_output *o, bool keep) {
    int error = 0;
    if (o->close_fd && close(o->fd) && errno != EINTR) error = errno;
    if (o->temporary[0]) {
        if (keep && !error && rename(o->temporary, o->target)) error = errno;
        if (!keep || error) unlink(o->temporary);
    }
    o->fd = -1;
    o->close_fd = false;
    o->temporary[0] = '\0';
    return error;
}
