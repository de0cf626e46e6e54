/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack help TOPIC: manual pages and pages of docs/, installed or in the tree that this was built
 * from. Which there are is looked up, not listed here. */
#define _GNU_SOURCE
#include "cli.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef METAPACK_MAN_FROM_BIN /* of an installed command, from its folder */
#define METAPACK_MAN_FROM_BIN "../share/man"
#endif
#ifndef METAPACK_DOC_FROM_BIN
#define METAPACK_DOC_FROM_BIN "../share/doc/metapack"
#endif

enum { MOST = 512, NAME = 80, FOUND = 2 * PATH_MAX };

static const char *const groups[] = {"guide", "reference", "design"};
enum { GROUPS = sizeof groups / sizeof *groups };

/* The folders of the manual pages of sections 1 and 3, which are one in the tree, and of the pages. */
typedef struct places {
    char man[2][PATH_MAX], docs[PATH_MAX];
    bool has_man, has_docs;
} places;

static places find_places(void) {
    /* beside a command that is not installed its build leaves `pages`, which leads to the tree */
    static const char *const man1[] = {METAPACK_MAN_FROM_BIN "/man1", "pages/man"};
    static const char *const man3[] = {METAPACK_MAN_FROM_BIN "/man3", "pages/man"};
    static const char *const docs[] = {METAPACK_DOC_FROM_BIN, "pages/docs"};
    places at = {0};
    at.has_man = cli_installed(man1, 2, "metapack.1", at.man[0]) &&
                 cli_installed(man3, 2, "metapack.3", at.man[1]);
    at.has_docs = cli_installed(docs, 2, "guide/building.md", at.docs);
    char *slash = at.has_docs ? strrchr(at.docs, '/') : NULL;
    if (slash) *slash = '\0'; /* from guide/ to what it lies in */
    return at;
}

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct names {
    int count;
    char name[MOST][NAME];
} names;

static void add(names *all, int length, const char *name) {
    if (all->count < MOST && length < NAME)
        snprintf(all->name[all->count++], NAME, "%.*s", length, name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Files of a folder that end in `end`, without it, sorted. */
static void list(names *all, const char *folder, const char *end) {
    const int first = all->count;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name), tail = strlen(end);
        if (length > tail && !strcmp(entry->d_name + length - tail, end) &&
            isalpha((unsigned char)entry->d_name[0]))
            add(all, (int)(length - tail), entry->d_name);
    }
    if (dir) closedir(dir);
    qsort(all->name[first], (size_t)(all->count - first), NAME, by_name);
}

static bool has(const names *all, const char *name) {
    for (int k = 0; k < all->count; k++)
        if (!strcmp(all->name[k], name)) return true;
    return false;
}

/* Manual pages but those of commands, which have their own names; metapack.3 is not metapack. */
static void list_manuals(names *all, const places *at) {
    static names found;
    const int first = all->count;
    for (int section = 0; section < 2 && at->has_man; section++) {
        found.count = 0;
        list(&found, at->man[section], section ? ".3" : ".1");
        for (int k = 0; k < found.count; k++) {
            char name[NAME + 2];
            if (!strncmp(found.name[k], "metapack-", 9)) continue;
            snprintf(name, sizeof name, "%s%s", found.name[k], has(all, found.name[k]) ? ".3" : "");
            add(all, (int)strlen(name), name);
        }
    }
    qsort(all->name[first], (size_t)(all->count - first), NAME, by_name);
}

/* Pages of a group: by their names, or as group/name where the name is taken. */
static void list_group(names *all, const places *at, const char *group) {
    static names found;
    char path[FOUND];
    found.count = 0;
    snprintf(path, sizeof path, "%s/%s", at->docs, group);
    if (at->has_docs) list(&found, path, ".md");
    for (int k = 0; k < found.count; k++) {
        const bool taken = has(all, found.name[k]);
        snprintf(path, sizeof path, "%s%s%s", taken ? group : "", taken ? "/" : "", found.name[k]);
        add(all, (int)strlen(path), path);
    }
}

/* ---- what a name leads to -------------------------------------------------------------------- */

static bool is_plain(const char *name) {
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-")];
}

static bool find_page(const places *at, const char *topic, char path[FOUND]) {
    const char *slash = strchr(topic, '/');
    if (!at->has_docs || !is_plain(slash ? slash + 1 : topic)) return false;
    for (int k = 0; k < GROUPS; k++) {
        if (slash && strncmp(topic, groups[k], (size_t)(slash - topic))) continue;
        snprintf(path, FOUND, "%s/%s/%s.md", at->docs, groups[k], slash ? slash + 1 : topic);
        if (!access(path, R_OK)) return true;
    }
    return false;
}

static bool find_manual(const places *at, const char *topic, char path[FOUND]) {
    /* "metapack_batch", "metapack_batch.3", "metapack_batch(3)" */
    const int length = (int)strcspn(topic, ".(");
    const char section = topic[length] ? topic[length + 1] : '\0';
    for (int k = 0; k < 2 && at->has_man; k++) {
        if (section && section != "13"[k]) continue;
        snprintf(path, FOUND, "%s/%.*s.%c", at->man[k], length, topic, "13"[k]);
        if (!strchr(topic, '/') && !access(path, R_OK)) return true;
    }
    return false;
}

/* Does a line of a manual page define this public name? It is a function of its first lines, a
 * heading, or a constant with its value. */
static bool defines(const char *line, const char *name) {
    const bool heading = !strncmp(line, ".Nm ", 4) || !strncmp(line, ".Ss ", 4);
    if (!heading && strncmp(line, ".It Dv \"", 8)) return false;
    const char *at = strstr(line, name);
    const char *end = at ? at + strlen(name) : "";
    if (!at || isalnum((unsigned char)at[-1]) || at[-1] == '_') return false;
    return heading ? !isalnum((unsigned char)*end) && *end != '_' : !strncmp(end, " = ", 3);
}

/* The page that says what a public function, type or constant is; near: all functions. */
static bool find_definition(const places *at, const char *name, char path[FOUND], names *near) {
    static names pages;
    pages.count = 0;
    if (at->has_man) list(&pages, at->man[1], ".3");
    for (int k = 0; k < pages.count; k++) {
        char line[1024];
        snprintf(path, FOUND, "%s/%s.3", at->man[1], pages.name[k]);
        FILE *file = strncmp(pages.name[k], "metapack_", 9) ? NULL : fopen(path, "r");
        bool found = false;
        while (file && !found && fgets(line, sizeof line, file)) {
            found = defines(line, name);
            if (!strncmp(line, ".Nm mpk_", 8)) add(near, (int)strcspn(line + 4, " \n"), line + 4);
        }
        if (file) fclose(file);
        if (found) return true;
    }
    return false;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* Run a program on a file; false: it is not there, or failed. */
static bool run_on(const char *const *argv) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[0], (char **)argv);
        _exit(127);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool show_manual(const char *path) {
    return run_on((const char *const[]){"man", path, NULL}) ||
           run_on((const char *const[]){"mandoc", path, NULL});
}

static int show_page(const cli_args *args, const char *path) {
    if (isatty(STDOUT_FILENO) &&
        run_on((const char *const[]){"sh", "-c", "exec ${PAGER:-less} \"$1\"", "sh", path, NULL}))
        return 0;
    char *text = cli_read_text(path);
    if (!text) return cli_usage_error(args, "cannot read %s", path);
    fputs(text, stdout);
    free(text);
    return 0;
}

bool cli_show_command(const char *command) {
    const places at = find_places();
    char name[NAME], path[FOUND];
    snprintf(name, sizeof name, "metapack-%s", command);
    return isatty(STDOUT_FILENO) && find_manual(&at, name, path) && show_manual(path);
}

/* "name title" of each page of a group. */
static void print_group(const places *at, const char *group) {
    static names pages;
    char path[FOUND];
    pages.count = 0;
    snprintf(path, sizeof path, "%s/%s", at->docs, group);
    list(&pages, path, ".md");
    for (int k = 0; k < pages.count; k++) {
        char line[256] = "";
        snprintf(path, sizeof path, "%s/%s/%s.md", at->docs, group, pages.name[k]);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file) && strncmp(line, "# ", 2)) continue;
        if (file) fclose(file);
        line[strcspn(line, "\n")] = '\0';
        printf("  %-20s %s\n", pages.name[k], strncmp(line, "# ", 2) ? "" : line + 2);
    }
}

/* All topics in the order in which a word is looked up: commands, report, pages, manual pages.
 * ends [out] where each of the four kinds of pages ends. */
static void list_topics(names *all, const places *at, const char *const *commands,
                        int ends[GROUPS + 2]) {
    all->count = 0;
    for (; *commands; commands++) add(all, (int)strlen(*commands), *commands);
    add(all, 6, "report");
    ends[0] = all->count;
    for (int k = 0; k < GROUPS; k++) {
        list_group(all, at, groups[k]);
        ends[k + 1] = all->count;
    }
    list_manuals(all, at);
    ends[GROUPS + 1] = all->count;
}

void cli_print_topics(const char *const *commands, bool bare) {
    static const char *const headings[] = {"User guide", "Reference", "Design", "Manual pages"};
    static names all;
    const places at = find_places();
    int ends[GROUPS + 2];
    list_topics(&all, &at, commands, ends);
    if (bare) {
        for (int k = 0; k < all.count; k++) printf("%s\n", all.name[k]);
        return;
    }
    printf("\nmetapack help TOPIC shows a page. Topics are the commands above, report, and\n");
    for (int g = 0; g <= GROUPS; g++) {
        if (ends[g] == ends[g + 1]) continue;
        printf("\n  %s:", headings[g]);
        int column = 80;
        for (int k = ends[g]; k < ends[g + 1]; k++) {
            if (column + 1 + (int)strlen(all.name[k]) > 80) column = printf("\n   ") - 1;
            column += printf(" %s", all.name[k]);
        }
        printf("\n");
    }
    if (at.has_man)
        printf("\nand each name of the C library: metapack help mpk_solve.\n");
    else
        printf("no others: the manual pages are not installed.\n");
    if (at.has_docs) printf("metapack help guide, reference, design: the titles of these pages.\n");
}

int cli_show_topic(const cli_args *args, const char *topic, const char *const *commands) {
    static names near;
    const places at = find_places();
    char path[FOUND];
    near.count = 0;
    for (int k = 0; k < GROUPS; k++) {
        if (strcmp(topic, groups[k])) continue;
        if (!at.has_docs) return cli_usage_error(args, "the pages of docs/ are not installed");
        print_group(&at, topic);
        return 0;
    }
    if (find_page(&at, topic, path)) return show_page(args, path);
    if (find_manual(&at, topic, path) ||
        (!strncasecmp(topic, "mpk_", 4) && find_definition(&at, topic, path, &near))) {
        if (show_manual(path)) return 0;
        return cli_usage_error(args, "no program man to show %s", path);
    }
    static names all;
    int ends[GROUPS + 2];
    list_topics(&all, &at, commands, ends);
    for (int k = 0; k < GROUPS; k++) add(&near, (int)strlen(groups[k]), groups[k]);
    for (int k = 0; k < all.count; k++) add(&near, (int)strlen(all.name[k]), all.name[k]);
    const char *words[MOST + 1];
    for (int k = 0; k < near.count; k++) words[k] = near.name[k];
    words[near.count] = NULL;
    const char *slash = strrchr(topic, '/'); /* "design/blockin" is near "blocking" */
    const char *nearest = cli_nearest(slash ? slash + 1 : topic, words);
    if (nearest)
        return cli_usage_error(args, "unknown topic '%s'; did you mean '%s'?", topic, nearest);
    return cli_usage_error(args, "unknown topic '%s'; metapack help lists them", topic);
}
