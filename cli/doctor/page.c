/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings and pictures as one page: no script, nothing loaded, light and dark. */
#include "doctor.h"

#include <ctype.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--card:#f6f8fa;--ink:#1d2733;--soft:#5a6672;"
    "--line:#d4dae0;--blue:#2463b0;--orange:#b9500f;--good:#1c7a43;--care:#8a5a00;--bad:#b3261e}\n"
    "@media (prefers-color-scheme:dark){:root{--back:#12171d;--card:#1a2129;--ink:#e4e9ee;"
    "--soft:#a3afba;--line:#37424d;--blue:#7db3f2;--orange:#f0a067;--good:#6fd196;--care:#e5b95c;"
    "--bad:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"
    "'Segoe UI',sans-serif}\n"
    "main{max-width:1120px;margin:0 auto;padding:24px 20px 48px}\n"
    "h1{font-size:1.5rem;line-height:1.3;margin:0 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:1.1rem;margin:28px 0 8px}\n"
    ".lead{font-size:1.1rem;margin:0 0 20px}\n"
    ".sections{columns:2 440px;column-gap:40px}\n"
    "section{break-inside:avoid}\nsection:first-child h2{margin-top:0}\n"
    "ul{list-style:none;margin:0;padding:0}\n"
    "li{padding:4px 0 4px 14px;border-left:3px solid var(--line);margin:0 0 6px;"
    "overflow-wrap:anywhere}\n"
    "li.good{border-color:var(--good)}li.care{border-color:var(--care)}li.bad{border-color:"
    "var(--bad)}\n"
    "b.good{color:var(--good)}b.care{color:var(--care)}b.bad{color:var(--bad)}\n"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));"
    "gap:20px}\n"
    "figure{margin:0;padding:14px;background:var(--card);border:1px solid var(--line);"
    "border-radius:8px}\n"
    "figcaption{font-weight:600;margin-bottom:8px}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "svg text{fill:var(--soft);font:17px system-ui,sans-serif}\n"
    "svg .end{text-anchor:end}svg .mid{text-anchor:middle}\n"
    ".frame{fill:var(--back);stroke:var(--line)}\n"
    ".grid{stroke:var(--line);fill:none}.axis{stroke:var(--soft);fill:none}\n"
    ".zero{stroke:var(--ink);fill:none;stroke-dasharray:3 3}\n"
    ".bar.a{fill:var(--blue)}.bar.b{fill:var(--orange)}\n"
    ".line{stroke:var(--blue);stroke-width:2;fill:none}\n"
    ".cell{fill:var(--blue)}.s1{fill-opacity:.35}.s2{fill-opacity:.5}.s3{fill-opacity:.66}"
    ".s4{fill-opacity:.83}\n"
    ".below{margin:8px 0 0;color:var(--soft);font-size:.9rem}\n"
    ".w{white-space:nowrap}.scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}\n"
    "th,td{padding:4px 14px 4px 0;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th:first-child,td:first-child{text-align:left}\n"
    "footer{margin-top:32px;color:var(--soft);font-size:.9rem}\n"
    "@media (max-width:480px){main{padding:16px 12px 32px}}\n"
    "@media print{figure{break-inside:avoid}}\n";

static void escape(FILE *out, const char *text, int bytes) {
    for (const char *end = text + bytes; text < end; text++) {
        const char *name = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                                          : NULL;
        if (name)
            fputs(name, out);
        else if (*text == '"')
            fputs("&quot;", out);
        else if ((unsigned char)*text >= 0x20)
            fputc(*text, out);
    }
}

/* Words with a hyphen, as 1e-10 and --ordering, stay whole. */
static void escaped(FILE *out, const char *text) {
    enum { SHORT = 24 };
    for (const char *start = text; *text;) {
        const int length = (int)strcspn(text, " ");
        const bool whole = length < SHORT && memchr(text, '-', (size_t)length);
        if (whole) fputs("<span class=\"w\">", out);
        escape(out, text, length);
        if (whole) fputs("</span>", out);
        text += length;
        if (!*text) break;
        const bool inside =
            text > start && isdigit((unsigned char)text[-1]) && strspn(text + 1, "0123456789") == 3;
        fputs(inside ? "&nbsp;" : " ", out); /* 12 500 is one number */
        text++;
    }
}

static void write_section(const doctor_findings *f, doctor_section s, FILE *out) {
    static const char *const classes[] = {"note", "good", "care", "bad"};
    static const char *const words[] = {"", "Good: ", "Care: ", "Bad: "};
    bool any = false;
    for (int k = 0; k < f->count; k++) {
        const doctor_finding *one = &f->list[k];
        if (one->section != s) continue;
        if (!any) fprintf(out, "<section>\n<h2>%s</h2>\n<ul>\n", doctor_section_titles[s]);
        any = true;
        fprintf(out, "<li class=\"%s\">", classes[one->severity]);
        if (one->severity != FINDING_NOTE)
            fprintf(out, "<b class=\"%s\">%s</b>", classes[one->severity], words[one->severity]);
        escaped(out, one->text);
        fprintf(out, "</li>\n");
    }
    if (any) fprintf(out, "</ul>\n</section>\n");
}

static void write_trials(const doctor_work *w, FILE *out) {
    char a[DOCTOR_NAME], b[DOCTOR_NAME], c[DOCTOR_NAME], e[DOCTOR_NAME];
    if (w->trials < 2) return;
    fprintf(out,
            "<h2>Options that were tried</h2>\n<div class=\"scroll\"><table>\n<tr><th>options</th>"
            "<th>flops</th><th>factor</th><th>factorization</th><th>solve</th><th>backward error"
            "</th><th>forward error</th></tr>\n");
    for (int k = 0; k < w->trials; k++) {
        const doctor_trial *t = &w->trial[k];
        fprintf(out,
                "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%.1e</td>"
                "<td>%.1e</td></tr>\n",
                t->name[0] ? t->name : "those of auto", doctor_si(a, t->flops, ""),
                doctor_si(b, t->bytes, "B"), doctor_time(c, t->factorize_s),
                doctor_time(e, t->solve_s), t->backward, t->forward);
    }
    fprintf(out, "</table></div>\n");
}

void doctor_write_page(const doctor_facts *d, const doctor_findings *f, FILE *out) {
    fprintf(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
                 "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    escape(out, d->source, (int)strlen(d->source));
    fprintf(out, ": METAPACK doctor</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>",
            style);
    escaped(out, d->source);
    fprintf(out, "</h1>\n<p class=\"lead\">");
    escaped(out, f->title);
    fprintf(out, "</p>\n<div class=\"sections\">\n");
    for (int s = 0; s < SECTIONS; s++) write_section(f, (doctor_section)s, out);
    fprintf(out, "</div>\n<h2>Pictures</h2>\n");
    doctor_draw(d, out);
    write_trials(&d->work, out);
    fprintf(out,
            "<footer>metapack doctor, METAPACK %s (%s). What is not called predicted or estimated "
            "was measured on this machine: rates on generated grids, all else on this matrix."
            "</footer>\n</main>\n</body>\n</html>\n",
            mpk_version(), mpk_build_config());
}
