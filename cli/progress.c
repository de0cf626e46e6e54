/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress on a terminal, and Ctrl-C as a request to stop. */
#define _GNU_SOURCE
#include "cli.h"

#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 /* cells */ };
static const double PATIENCE_S = 2; /* shorter calls get no bar */

static volatile sig_atomic_t interrupted; /* the number of the signal, all that a handler can say */

static void on_signal(int number) {
    interrupted = number;
}

double cli_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void draw_bar(cli_progress *p, const char *stage, double fraction) {
    int full = (int)(fraction * BAR + 0.5);
    fprintf(stderr, "\r%-10s ", stage);
    for (int k = 0; k < BAR; k++)
        fputs(p->utf8 ? (k < full ? "━" : "╌") : (k < full ? "#" : "."), stderr);
    fprintf(stderr, " %3d %%  %.1f s\033[K", (int)(100 * fraction), cli_now_s() - p->start_s);
    fflush(stderr);
    p->drawn = true;
}

/* Without a terminal: a line for each new stage and each tenth of it. */
static void tell_tenth(cli_progress *p, const char *stage, double fraction) {
    int tenth = (int)(10 * fraction);
    if (!strcmp(stage, p->stage) && tenth <= p->tenth) return;
    fprintf(stderr, "%-10s %3d %%  %.1f s\n", stage, 10 * tenth, cli_now_s() - p->start_s);
    p->tenth = tenth;
}

static int on_progress(const char *stage, double fraction, void *user) {
    cli_progress *p = user;
    if (interrupted) return 1;
    if (!(fraction >= 0)) fraction = 0;
    if (fraction > 1) fraction = 1;
    p->fraction = fraction;
    p->late = p->deadline_s > 0 && cli_now_s() > p->deadline_s;
    if (p->terminal && (p->always || cli_now_s() - p->start_s > PATIENCE_S))
        draw_bar(p, stage, fraction);
    else if (!p->terminal && p->always)
        tell_tenth(p, stage, fraction);
    snprintf(p->stage, sizeof p->stage, "%s", stage);
    return p->late;
}

void cli_progress_begin(cli_progress *p, mpk_context *ctx, bool always) {
    const char *term = getenv("TERM");
    *p = (cli_progress){.always = always, .start_s = cli_now_s()};
    p->terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    p->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    /* no SA_RESTART: a blocked read returns; reset: a second Ctrl-C ends the process at once, and
     * leaves nothing but on file systems without nameless files (core/output.h) */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    static const int asked[] = {SIGINT, SIGTERM, SIGHUP};
    for (int k = 0; k < 3; k++) { /* what nohup has ignored stays ignored */
        struct sigaction before;
        if (!sigaction(asked[k], NULL, &before) &&
            (asked[k] != SIGHUP || before.sa_handler != SIG_IGN))
            sigaction(asked[k], &action, NULL);
    }
    mpk_context_set_progress(ctx, on_progress, p);
}

int cli_progress_end(cli_progress *p, mpk_context *ctx) {
    mpk_context_set_progress(ctx, NULL, NULL);
    if (p->drawn) fputs("\r\033[K", stderr);
    return interrupted;
}
