/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all: which name is replaced, and which is written to. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LINKS = 40, ATTEMPTS = 100, CHUNK = 1 << 16 };
static const mode_t ANY_WRITER = S_IWUSR | S_IWGRP | S_IWOTH;

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

/* The folder of a name, "." where it has none. */
static void folder_of(const char *path, char *folder) {
    const char *slash = strrchr(path, '/');
    const size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, length);
    strcpy(folder + length, length ? "" : ".");
}

/* ---- before anything is written ------------------------------------------------------------- */

/* Of a file that is there. The superuser may write to any: what nobody is to write, nobody does. */
static bool writable(const char *path, const struct stat *info) {
    if (S_ISREG(info->st_mode) && !(info->st_mode & ANY_WRITER)) return false;
    return !access(path, W_OK);
}

int mpki_output_look(const char *path, char *text, size_t size) {
    char target[PATH_MAX], folder[PATH_MAX];
    struct stat info;
    const size_t length = strlen(path);
    int error = 0;
    if (!strcmp(path, "-")) return 0;
    if (!length) {
        snprintf(text, size, "the name is empty");
        return ENOENT;
    }
    if (!stat(path, &info)) {
        if (S_ISDIR(info.st_mode)) {
            snprintf(text, size, "cannot be written: a folder");
            return EISDIR;
        }
        if (writable(path, &info)) return 0;
        snprintf(text, size, "cannot be written: the file is there, and read-only");
        return EACCES;
    }
    if ((error = follow(path, target))) {
        snprintf(text, size, "cannot be written: %s", strerror(error));
        return error;
    }
    folder_of(target, folder);
    if (stat(folder, &info))
        snprintf(text, size, "cannot be written: the folder %.200s is not there", folder);
    else if (!S_ISDIR(info.st_mode))
        snprintf(text, size, "cannot be written: %.200s is no folder", folder);
    else if (access(folder, W_OK | X_OK))
        snprintf(text, size, "the folder %.200s cannot be written to", folder);
    else if (path[length - 1] == '/')
        snprintf(text, size, "cannot be written: it would be a folder");
    else
        return 0;
    return ENOENT;
}

/* What "-" or a name stands for; false: there is none such yet. */
static bool identify(const char *path, int standard, struct stat *info) {
    return !strcmp(path, "-") ? !fstat(standard, info) : !stat(path, info);
}

/* The one name of a file that is not there yet; false: it could not be made either. */
static bool canonical(const char *path, char *out) {
    char target[PATH_MAX], folder[PATH_MAX], whole[PATH_MAX];
    if (!strcmp(path, "-") || follow(path, target)) return false;
    folder_of(target, folder);
    const char *slash = strrchr(target, '/');
    return realpath(folder, whole) &&
           snprintf(out, PATH_MAX, "%s/%s", whole, slash ? slash + 1 : target) < PATH_MAX;
}

bool mpki_output_same(const char *output, const char *other, bool reads) {
    struct stat a, b;
    char one[PATH_MAX], two[PATH_MAX];
    const bool there = identify(output, STDOUT_FILENO, &a);
    if (!reads && !strcmp(output, "-") && !strcmp(other, "-")) return true;
    if (there != identify(other, reads ? STDIN_FILENO : STDOUT_FILENO, &b)) return false;
    if (!there && reads) return false; /* there is nothing that could be lost */
    if (there) return same_file(&a, &b) && (S_ISREG(a.st_mode) || S_ISFIFO(a.st_mode));
    return canonical(output, one) && canonical(other, two) && !strcmp(one, two);
}

double mpki_output_room(const char *path) {
    char target[PATH_MAX], folder[PATH_MAX];
    struct stat info;
    struct statvfs disk;
    if (identify(path, STDOUT_FILENO, &info) && !S_ISREG(info.st_mode)) return HUGE_VAL;
    if (!strcmp(path, "-"))
        return fstatvfs(STDOUT_FILENO, &disk) ? HUGE_VAL
                                              : (double)disk.f_bavail * (double)disk.f_frsize;
    if (follow(path, target)) return HUGE_VAL;
    folder_of(target, folder);
    return statvfs(folder, &disk) ? HUGE_VAL : (double)disk.f_bavail * (double)disk.f_frsize;
}

/* ---- open ------------------------------------------------------------------------------------ */

static int open_in_place(mpki_output *o, const char *path, int flags) {
    o->target[0] = o->temporary[0] = '\0';
    o->fd = open(path, O_WRONLY | O_CLOEXEC | flags);
    o->close_fd = o->fd >= 0;
    return o->close_fd ? 0 : errno;
}

/* A name in the folder of the target that nothing has, short whatever that is called. */
static int name_beside(mpki_output *o, int attempt) {
    char folder[PATH_MAX];
    folder_of(o->target, folder);
    const int length = snprintf(o->temporary, PATH_MAX, "%s/.metapack-%ld-%d.tmp", folder,
                                (long)getpid(), attempt);
    return length < PATH_MAX ? 0 : ENAMETOOLONG;
}

/* By which name a file without one can be linked. */
static const char *name_of(int fd, char name[32]) {
    snprintf(name, 32, "/proc/self/fd/%d", fd);
    return name;
}

/* A new file without a name, of which nothing is left whatever ends the process. */
static int open_nameless(mpki_output *o) {
    char folder[PATH_MAX], name[32];
    folder_of(o->target, folder);
    o->fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (o->fd < 0) return errno;
    o->nameless = !access(name_of(o->fd, name), F_OK);
    if (o->nameless) return 0;
    close(o->fd);
    o->fd = -1;
    return EOPNOTSUPP;
}

/* A new file beside the target. */
static int open_named(mpki_output *o) {
    int error = EEXIST;
    for (int attempt = 0; error == EEXIST && attempt < ATTEMPTS; attempt++) {
        if ((error = name_beside(o, attempt))) break;
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd >= 0) return 0;
        error = errno;
    }
    o->temporary[0] = '\0'; /* that file is not ours to remove */
    return error;
}

/* The old file, and a place elsewhere until the new one is whole. */
static int open_aside(mpki_output *o) {
    char name[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    o->aside = open(o->target, O_WRONLY | O_CLOEXEC);
    if (o->aside < 0) return errno;
    const int length =
        snprintf(name, sizeof name, "%s/metapack-XXXXXX", folder && *folder ? folder : "/tmp");
    o->fd = length < (int)sizeof name ? mkostemp(name, O_CLOEXEC) : -1;
    if (o->fd >= 0) {
        unlink(name);
        o->close_fd = true;
        return 0;
    }
    const int error = length < (int)sizeof name ? errno : ENAMETOOLONG;
    close(o->aside);
    o->aside = -1;
    return error;
}

int mpki_output_open(mpki_output *o, const char *path) {
    struct stat info, there;
    *o = (mpki_output){.fd = -1, .aside = -1};
    const bool exists = !stat(path, &info);
    if (exists && S_ISDIR(info.st_mode)) return EISDIR;
    if (exists && !S_ISREG(info.st_mode)) return open_in_place(o, path, 0);
    if (exists && !writable(path, &info)) return EACCES;
    int error = follow(path, o->target);
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
    error = open_nameless(o);
    if (error == EOPNOTSUPP || error == EISDIR || error == EINVAL) error = open_named(o);
    if (exists && (error == EACCES || error == EROFS || error == EPERM)) return open_aside(o);
    if (error) return error;
    o->close_fd = true;
    /* where this is refused, the new file keeps the permissions of new files */
    if (exists && fchmod(o->fd, info.st_mode & 07777)) errno = 0;
    return 0;
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

/* ---- close ----------------------------------------------------------------------------------- */

/* Copy what was kept aside over the old file, for which its room is taken first: of a disk that is
 * full the old one is not changed. */
static int copy_over(mpki_output *o) {
    struct stat old, now;
    char part[CHUNK];
    if (fstat(o->aside, &old) || fstat(o->fd, &now)) return errno;
    if (now.st_size > old.st_size) {
        const int full = posix_fallocate(o->aside, 0, now.st_size);
        if (full == ENOSPC || full == EFBIG || full == EDQUOT)
            return ftruncate(o->aside, old.st_size) ? errno : full;
    }
    for (off_t at = 0; at < now.st_size;) {
        const ssize_t got = pread(o->fd, part, sizeof part, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        for (ssize_t done = 0; done < got;) {
            const ssize_t count = pwrite(o->aside, part + done, (size_t)(got - done), at + done);
            if (count < 0 && errno != EINTR) return errno;
            if (count > 0) done += count;
        }
        at += got;
    }
    return ftruncate(o->aside, now.st_size) ? errno : 0;
}

/* A name for what has none yet. */
static int give_name(mpki_output *o) {
    char own[32];
    int error = EEXIST;
    for (int attempt = 0; error == EEXIST && attempt < ATTEMPTS; attempt++) {
        if ((error = name_beside(o, attempt))) break;
        error = linkat(AT_FDCWD, name_of(o->fd, own), AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW)
                    ? errno
                    : 0;
    }
    if (error) o->temporary[0] = '\0';
    return error;
}

int mpki_output_close(mpki_output *o, bool keep) {
    int error = 0;
    if (keep && o->nameless) error = give_name(o);
    if (keep && o->aside >= 0) error = copy_over(o);
    if (o->close_fd && close(o->fd) && errno != EINTR && !error) error = errno;
    if (o->aside >= 0 && close(o->aside) && errno != EINTR && !error) error = errno;
    if (o->temporary[0]) {
        if (keep && !error && rename(o->temporary, o->target)) error = errno;
        if (!keep || error) unlink(o->temporary);
    }
    o->fd = o->aside = -1;
    o->close_fd = o->nameless = false;
    o->temporary[0] = '\0';
    return error;
}
