/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the SVG of our own pictures: shapes, texts, embedded PNGs, the rules of their style
 * element. */
#include "picture.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 16, VALUE = 256, DEPTH = 16, POINTS = 40000, RUNS = 8, ARC = 8 };

typedef struct style {
    mpki_paint paint;
    mpki_letters letters;
    char anchor; /* s m e */
} style;

typedef struct rule {
    char selector[16], body[200];
} rule;

typedef struct run {
    style s;
    double dx, dy;
    char text[VALUE];
} run;

typedef struct reader {
    mpk_context *ctx;
    const mpki_surface *on;
    const char *at; /* what is to be read */
    double width, height;
    rule rules[RULES];
    int nrules;
    struct {
        double x, y;
        bool clips;
    } place[DEPTH];
    int depth, hidden; /* groups that are open; 1: inside what is not drawn by itself */
    double *points;    /* POINTS pairs */
    int count;
} reader;

/* ---- styles ---------------------------------------------------------------------------------- */

static int32_t colour(const char *text) {
    if (text[0] != '#') return -1; /* none, and what we do not write */
    unsigned long x = strtoul(text + 1, NULL, 16);
    if (strspn(text + 1, "0123456789abcdefABCDEF") == 3)
        x = (x >> 8 & 15) * 0x110000 + (x >> 4 & 15) * 0x1100 + (x & 15) * 0x11;
    return (int32_t)(x & 0xffffff);
}

static double number(const char *text) {
    char *end;
    return strtod(text, &end); /* of a locale with a decimal point: mpki_svg_draw sets one */
}

static void set(style *s, const char *key, const char *value) {
    char *rest;
    if (!strcmp(key, "fill")) {
        s->paint.fill = colour(value);
        if (s->paint.fill >= 0) s->letters.colour = s->paint.fill;
    }
    if (!strcmp(key, "stroke")) s->paint.stroke = colour(value);
    if (!strcmp(key, "stroke-width")) s->paint.width = number(value);
    if (!strcmp(key, "stroke-dasharray")) {
        s->paint.dash[0] = strtod(value, &rest);
        s->paint.dash[1] = number(*rest ? rest + 1 : value);
    }
    if (!strcmp(key, "font-size")) s->letters.size = number(value);
    if (!strcmp(key, "font-weight")) s->letters.bold = number(value) >= 600;
    if (!strcmp(key, "text-anchor")) s->anchor = value[0];
}

/* "fill:none;stroke-width:2" */
static void set_all(style *s, const char *body) {
    char key[32], value[VALUE];
    while (*body) {
        const size_t k = strcspn(body, ":"), length = strcspn(body, ";");
        if (k >= length || k >= sizeof key || length - k >= sizeof value) return;
        memcpy(key, body, k), key[k] = '\0';
        memcpy(value, body + k + 1, length - k - 1), value[length - k - 1] = '\0';
        set(s, key, value);
        body += length + (body[length] == ';');
    }
}

static void read_rules(reader *r, const char *text, const char *end) {
    while (text < end && r->nrules < RULES) {
        const size_t selector = strcspn(text, "{"), body = strcspn(text, "}");
        if (selector >= body || text + body >= end) return;
        rule *next = &r->rules[r->nrules];
        if (selector < sizeof next->selector && body - selector - 1 < sizeof next->body) {
            memcpy(next->selector, text, selector), next->selector[selector] = '\0';
            memcpy(next->body, text + selector + 1, body - selector - 1);
            next->body[body - selector - 1] = '\0';
            r->nrules++;
        }
        text += body + 1;
    }
}

/* The value of an attribute of the tag at `tag`; false: it has none. */
static bool attribute(const char *tag, const char *name, char value[VALUE]) {
    const size_t length = strlen(name);
    const char *end = strchr(tag, '>');
    for (const char *p = tag; (p = strstr(p, name)) && p < end; p += length) {
        if (p[-1] != ' ' || p[length] != '=' || p[length + 1] != '"') continue;
        const char *from = p + length + 2;
        const size_t size = strcspn(from, "\"");
        if (size >= VALUE) return false;
        memcpy(value, from, size);
        value[size] = '\0';
        return true;
    }
    return false;
}

static double attribute_number(const char *tag, const char *name, double preset) {
    char value[VALUE];
    return attribute(tag, name, value) ? number(value) : preset;
}

static style style_of(const reader *r, const char *tag, const char *name, const style *from) {
    static const char *const keys[] = {
        "fill",      "stroke",      "stroke-width", "stroke-dasharray",
        "font-size", "font-weight", "text-anchor"};
    char value[VALUE], class[24] = ".";
    style s = from ? *from
                   : (style){.paint = {.fill = 0, .stroke = -1, .width = 1},
                             .letters = {.size = 13},
                             .anchor = 's'};
    if (attribute(tag, "class", value)) snprintf(class, sizeof class, ".%.20s", value);
    for (int pass = 0; pass < 2; pass++) /* elements before classes */
        for (int k = 0; k < r->nrules; k++)
            if (!strcmp(r->rules[k].selector, pass ? class : name)) set_all(&s, r->rules[k].body);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (attribute(tag, keys[k], value)) set(&s, keys[k], value);
    if (attribute(tag, "style", value)) set_all(&s, value);
    return s;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void point(reader *r, double x, double y) {
    if (r->count >= POINTS) return;
    r->points[2 * r->count] = x + r->place[r->depth].x;
    r->points[2 * r->count + 1] = y + r->place[r->depth].y;
    r->count++;
}

static void paint(reader *r, bool closed, const style *s) {
    mpki_paint p = s->paint;
    if (!closed && r->count < 2) p.fill = -1;
    if (r->count > 0) r->on->shape(r->on->self, r->points, r->count, closed, &p);
    r->count = 0;
}

static void arc(reader *r, double x, double y, double radius, double from, double to, int parts) {
    for (int k = 0; k <= parts; k++) {
        const double t = from + (to - from) * k / parts;
        point(r, x + radius * cos(t), y + radius * sin(t));
    }
}

/* A number, or a share of the picture's. */
static double length_of(const char *tag, const char *name, double whole) {
    char value[VALUE];
    if (!attribute(tag, name, value)) return 0;
    return strchr(value, '%') ? number(value) / 100 * whole : number(value);
}

static void rectangle(reader *r, const char *tag) {
    const style s = style_of(r, tag, "rect", NULL);
    const double x = attribute_number(tag, "x", 0), y = attribute_number(tag, "y", 0);
    const double w = length_of(tag, "width", r->width), h = length_of(tag, "height", r->height);
    const double c = fmin(attribute_number(tag, "rx", 0), fmin(w, h) / 2);
    if (c > 0) {
        arc(r, x + w - c, y + c, c, -M_PI_2, 0, ARC);
        arc(r, x + w - c, y + h - c, c, 0, M_PI_2, ARC);
        arc(r, x + c, y + h - c, c, M_PI_2, M_PI, ARC);
        arc(r, x + c, y + c, c, M_PI, 3 * M_PI_2, ARC);
    } else {
        point(r, x, y), point(r, x + w, y), point(r, x + w, y + h), point(r, x, y + h);
    }
    paint(r, true, &s);
}

/* The head of an arrow at the end of a line, as marker-end has it. */
static void arrow(reader *r, double x0, double y0, double x1, double y1, const style *s) {
    enum { LONG = 9, HALF = 4 };
    const double length = hypot(x1 - x0, y1 - y0);
    if (!(length > 0)) return;
    const double ux = (x1 - x0) / length, uy = (y1 - y0) / length;
    style head = *s;
    head.paint.fill = s->paint.stroke, head.paint.stroke = -1;
    x1 -= r->place[r->depth].x, y1 -= r->place[r->depth].y;
    point(r, x1, y1);
    point(r, x1 - LONG * ux + HALF * uy, y1 - LONG * uy - HALF * ux);
    point(r, x1 - LONG * ux - HALF * uy, y1 - LONG * uy + HALF * ux);
    paint(r, true, &head);
}

/* M x y, L x y, H x, V y, h dx, v dy, Z, and numbers that go on. */
static void path(reader *r, const char *tag) {
    const style s = style_of(r, tag, "path", NULL);
    char value[VALUE];
    const char *d = strstr(tag, " d=\""), *end = strchr(tag, '>');
    double x = 0, y = 0;
    char verb = 'M';
    if (!d || d > end) return;
    for (d += 4; *d && *d != '"';) {
        char *next;
        if (isalpha((unsigned char)*d)) verb = *d++;
        if (verb == 'Z') {
            paint(r, true, &s);
            continue;
        }
        const double a = strtod(d, &next);
        if (next == d) {
            d++;
            continue;
        }
        d = next;
        if (verb == 'M' || verb == 'L') {
            if (verb == 'M' && r->count) paint(r, false, &s);
            x = a, y = strtod(d + (*d == ','), &next), d = next;
            if (verb == 'M') verb = 'L';
        }
        if (verb == 'H') x = a;
        if (verb == 'V') y = a;
        if (verb == 'h') x += a;
        if (verb == 'v') y += a;
        point(r, x, y);
    }
    const int n = r->count;
    double last[4] = {0};
    if (n >= 2) memcpy(last, r->points + 2 * (n - 2), sizeof last);
    paint(r, false, &s);
    if (n >= 2 && attribute(tag, "marker-end", value))
        arrow(r, last[0], last[1], last[2], last[3], &s);
}

static void polyline(reader *r, const char *tag) {
    const style s = style_of(r, tag, "polyline", NULL);
    const char *p = strstr(tag, " points=\"");
    if (!p || p > strchr(tag, '>')) return;
    for (p += 9; *p && *p != '"';) {
        char *next;
        const double x = strtod(p, &next);
        if (next == p) break;
        p = next + (*next == ',');
        const double y = strtod(p, &next);
        p = next + (*next == ' ');
        point(r, x, y);
    }
    paint(r, false, &s);
}

static void line(reader *r, const char *tag) {
    const style s = style_of(r, tag, "line", NULL);
    point(r, attribute_number(tag, "x1", 0), attribute_number(tag, "y1", 0));
    point(r, attribute_number(tag, "x2", 0), attribute_number(tag, "y2", 0));
    paint(r, false, &s);
}

static void circle(reader *r, const char *tag) {
    const style s = style_of(r, tag, "circle", NULL);
    arc(r, attribute_number(tag, "cx", 0), attribute_number(tag, "cy", 0),
        attribute_number(tag, "r", 0), 0, 2 * M_PI, 4 * ARC);
    paint(r, true, &s);
}

static int digit(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static mpk_status image(reader *r, const char *tag) {
    static const char start[] = "base64,";
    const char *p = strstr(tag, start);
    if (!p || p > strchr(tag, '>')) return MPK_OK;
    p += strlen(start);
    const int64_t length = (int64_t)strcspn(p, "\"");
    uint8_t *png = MPKI_NEW(r->ctx, "plot", length + 1, uint8_t);
    int64_t size = 0;
    uint32_t word = 0;
    if (!png) return mpki_failed(r->ctx);
    for (int64_t k = 0, bits = 0; k < length && digit(p[k]) >= 0; k++) {
        word = word << 6 | (uint32_t)digit(p[k]);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        png[size++] = (uint8_t)(word >> bits);
    }
    r->on->image(r->on->self, attribute_number(tag, "x", 0) + r->place[r->depth].x,
                 attribute_number(tag, "y", 0) + r->place[r->depth].y,
                 attribute_number(tag, "width", 0), attribute_number(tag, "height", 0), png, size);
    mpki_release(r->ctx, png);
    return MPK_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Characters up to the next tag, without entities. Returns where that stands. */
static const char *characters(const char *p, char out[VALUE]) {
    static const struct {
        const char *entity, character;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    size_t used = 0;
    while (*p && *p != '<') {
        char c = *p;
        size_t taken = 1;
        for (int k = 0; k < 4; k++)
            if (!strncmp(p, known[k].entity, strlen(known[k].entity)))
                c = known[k].character, taken = strlen(known[k].entity);
        if (used + 1 < VALUE) out[used++] = c;
        p += taken;
    }
    out[used] = '\0';
    return p;
}

/* A text with its spans. Returns what stands behind it. */
static const char *text(reader *r, const char *tag) {
    run runs[RUNS] = {0};
    char value[VALUE];
    const style base = style_of(r, tag, "text", NULL);
    const bool upright = !attribute(tag, "transform", value) || strncmp(value, "rotate(-90", 10);
    double x = attribute_number(tag, "x", 0) + r->place[r->depth].x;
    double y = attribute_number(tag, "y", 0) + r->place[r->depth].y;
    int count = 1;
    const char *p = strchr(tag, '>') + 1;
    style now = base;
    runs[0].s = base;
    while (*p && strncmp(p, "</text>", 7)) {
        if (*p != '<') {
            p = characters(p, runs[count - 1].text);
            continue;
        }
        const bool opens = !strncmp(p, "<tspan", 6);
        if (count < RUNS) {
            now = opens ? style_of(r, p, "tspan", &now) : base;
            runs[count].s = now;
            if (opens) {
                runs[count].dx = attribute_number(p, "dx", 0);
                runs[count].dy = attribute_number(p, "dy", 0);
            }
            count++;
        }
        p = strchr(p, '>');
        if (!p) return "";
        p++;
    }
    double length = 0;
    for (int k = 0; k < count; k++)
        length += runs[k].dx + r->on->text_width(r->on->self, &runs[k].s.letters, runs[k].text);
    const double back = base.anchor == 'e' ? length : base.anchor == 'm' ? length / 2 : 0;
    if (upright)
        x -= back;
    else
        y += back;
    for (int k = 0; k < count; k++) {
        x += runs[k].dx, y += runs[k].dy;
        if (*runs[k].text)
            r->on->text(r->on->self, x, y, upright, &runs[k].s.letters, runs[k].text);
        const double w = r->on->text_width(r->on->self, &runs[k].s.letters, runs[k].text);
        if (upright)
            x += w;
        else
            y -= w;
    }
    return p;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is(const char *tag, const char *name) {
    const size_t length = strlen(name);
    return !strncmp(tag, name, length) && strchr(" >/", tag[length]);
}

/* A group, or a picture in the picture, which clips. */
static void open_group(reader *r, const char *tag, bool picture) {
    char value[VALUE];
    if (r->depth + 1 >= DEPTH) return;
    r->place[r->depth + 1] = r->place[r->depth];
    r->depth++;
    r->place[r->depth].clips = picture;
    if (attribute(tag, "transform", value) && !strncmp(value, "translate(", 10)) {
        char *end;
        r->place[r->depth].x += strtod(value + 10, &end);
        r->place[r->depth].y += strtod(end + 1, NULL);
    }
    if (picture)
        r->on->clip(r->on->self, r->place[r->depth].x, r->place[r->depth].y,
                    attribute_number(tag, "width", 0), attribute_number(tag, "height", 0));
}

static void close_group(reader *r) {
    if (r->depth == 0) return;
    if (r->place[r->depth].clips) r->on->clip(r->on->self, 0, 0, -1, 0);
    r->depth--;
}

static mpk_status element(reader *r, const char *tag) {
    if (is(tag, "clipPath") || is(tag, "defs")) r->hidden = 1;
    if (is(tag, "/clipPath") || is(tag, "/defs")) r->hidden = 0;
    if (r->hidden) return MPK_OK;
    if (is(tag, "g") || is(tag, "svg")) open_group(r, tag, is(tag, "svg"));
    if (is(tag, "/g") || is(tag, "/svg")) close_group(r);
    if (is(tag, "style")) {
        const char *from = strchr(tag, '>') + 1, *to = strstr(from, "</style>");
        if (to) read_rules(r, from, to), r->at = to;
    }
    if (is(tag, "rect")) rectangle(r, tag);
    if (is(tag, "path")) path(r, tag);
    if (is(tag, "polyline")) polyline(r, tag);
    if (is(tag, "line")) line(r, tag);
    if (is(tag, "circle")) circle(r, tag);
    if (is(tag, "text")) r->at = text(r, tag);
    return is(tag, "image") ? image(r, tag) : MPK_OK;
}

mpk_status mpki_svg_draw(mpk_context *ctx, const char *svg, const mpki_surface *surface) {
    reader r = {.ctx = ctx, .on = surface, .at = strchr(svg, '>')};
    mpk_status status = MPK_OK;
    if (strncmp(svg, "<svg ", 5) || !r.at) return MPK_ERR_ARGUMENT;
    r.points = MPKI_NEW(ctx, "plot", 2 * POINTS, double);
    if (!r.points) return mpki_failed(ctx);
    r.width = attribute_number(svg + 1, "width", 0);
    r.height = attribute_number(svg + 1, "height", 0);
    surface->begin(surface->self, r.width, r.height);
    while (!mpk_failed(status) && (r.at = strchr(r.at, '<'))) {
        const char *tag = ++r.at;
        if (!strchr(tag, '>')) break;
        status = element(&r, tag);
    }
    mpki_release(ctx, r.points);
    return status;
}
