/* Draws stacks with their weights. See stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* All of these are pixels but the last, which is a number of rows. */
enum { WIDTH = 1200, MARGIN = 10, HEAD = 30, ROW = 17, LETTER = 8, DEEPEST = 300 };
/* A function that is narrower cannot be seen, and is left out. */
#define LEAST_WIDTH 0.1

struct drawing {
	const struct fxt_stacks *s;
	uint32_t *order;               /* callers first; those of one caller by name */
	uint64_t *from, *used;          /* by stack: samples to the left, and those placed within it so far */
	uint32_t *depth;                /* by stack; of a process 1 */
};

/* -- Layout ---------------------------------------------------------------------------------------- */

static int by_caller_and_name(const void *a, const void *b, void *context)
{
	const struct fxt_stack *list = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	/* Processes have no caller, and come first. */
	uint32_t p = list[i].parent + 1, q = list[k].parent + 1;
	int names;

	if (p != q)
		return p < q ? -1 : 1;
	names = strcmp(list[i].label, list[k].label);
	return names ? names : i < k ? -1 : 1;
}

/* A caller's place is lower than those of its callees, so in this order each caller has its place before
 * they get theirs within it. */
static void lay_out(struct drawing *d)
{
	const struct fxt_stacks *s = d->s;
	uint64_t processes = 0;

	d->order = fxt_alloc(s->count, sizeof(*d->order));
	d->from = fxt_alloc(s->count, sizeof(*d->from));
	d->used = fxt_alloc(s->count, sizeof(*d->used));
	d->depth = fxt_alloc(s->count, sizeof(*d->depth));
	for (size_t i = 0; i < s->count; i++)
		d->order[i] = (uint32_t)i;
	if (s->count)
		qsort_r(d->order, s->count, sizeof(*d->order), by_caller_and_name, s->list);
	for (size_t i = 0; i < s->count; i++) {
		uint32_t at = d->order[i], parent = s->list[at].parent;
		uint64_t *used = parent == FXT_NO_NODE ? &processes : &d->used[parent];

		d->from[at] = *used + (parent == FXT_NO_NODE ? 0 : d->from[parent]);
		d->depth[at] = parent == FXT_NO_NODE ? 1 : d->depth[parent] + 1;
		*used += s->list[at].total;
	}
}

static double pixels(const struct fxt_stacks *s, uint64_t samples)
{
	return (double)samples * (WIDTH - 2 * MARGIN) / (double)s->samples;
}

static bool is_drawn(const struct drawing *d, uint32_t stack)
{
	return pixels(d->s, d->s->list[stack].total) >= LEAST_WIDTH && d->depth[stack] < DEEPEST;
}

/* -- Drawing --------------------------------------------------------------------------------------- */

/* Prints text, at most `characters` of it, so that XML takes it for text. */
static void put_text(const char *text, size_t characters, FILE *out)
{
	struct fxt_text whole = fxt_text_of(text);
	char *cut = fxt_printable(&whole, characters, false);

	for (const char *c = cut; *c; c++) {
		switch (*c) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*c, out);
		}
	}
	free(cut);
}

/* Prints a colour that depends on the name only, so that a function has the same one everywhere and in every
 * picture. */
static void put_colour(const char *label, bool is_kernel, FILE *out)
{
	unsigned hash = 2166136261u;

	for (; *label; label++)
		hash = (hash ^ (unsigned char)*label) * 16777619u;
	if (is_kernel)
		fputs("hsl(210,55%,70%)", out);
	else
		fprintf(out, "hsl(%u,%u%%,%u%%)", 10 + hash % 45, 75 + hash / 64 % 20, 60 + hash / 4096 % 12);
}

/* Prints a weight with its unit. */
static void put_weight(const struct fxt_stacks *s, uint64_t weight, FILE *out)
{
	if (s->unit == FXT_STACKS_BYTES)
		fputs(fxt_bytes(weight).text, out);
	else if (s->unit == FXT_STACKS_NS)
		fputs(fxt_duration(weight).text, out);
	else
		fprintf(out, "%s sample%s", fxt_count(weight).text, weight == 1 ? "" : "s");
}

static void put_box(const struct fxt_stacks *s, const char *label, bool is_kernel, uint64_t from,
		    uint64_t total, uint32_t depth, uint64_t hz, FILE *out)
{
	double x = MARGIN + pixels(s, from), width = pixels(s, total), y = HEAD + depth * (double)ROW;
	size_t letters = width > 6 ? (size_t)(width - 6) / LETTER : 0;

	fprintf(out, "<g data-x=\"%.2f\" data-w=\"%.2f\" data-d=\"%" PRIu32 "\"><title>", x, width, depth);
	put_text(label, SIZE_MAX, out);
	fputs(" (", out);
	put_weight(s, total, out);
	fprintf(out, ", %.2f%%", 100.0 * (double)total / (double)s->samples);
	if (hz)
		fprintf(out, ", %s", fxt_duration((uint64_t)((double)total * 1e9 / (double)hz)).text);
	fprintf(out, ")</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"", x, y, width,
		ROW - 1);
	put_colour(label, is_kernel, out);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12);
	if (letters >= 3)
		put_text(label, letters, out);
	fputs("</text></g>\n", out);
}

/* A click on a function makes it as wide as the picture, and a click on the first row shows all again. */
static void put_script(FILE *out)
{
	fprintf(out,
		"<script><![CDATA[\n"
		"const boxes = [...document.querySelectorAll('g[data-x]')].map(g => ({g,\n"
		"  x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d, name:\n"
		"  g.querySelector('title').textContent.replace(/ \\([^(]*\\)$/, '')}));\n"
		"function zoom(to) {\n"
		"  for (const b of boxes) {\n"
		"    const below = b.d < to.d && b.x <= to.x + 0.01 && b.x + b.w >= to.x + to.w - 0.01;\n"
		"    const x = below ? %d : %d + (b.x - to.x) * %d / to.w;\n"
		"    const w = below ? %d : b.w * %d / to.w;\n"
		"    const inside = below || b.d >= to.d && b.x >= to.x - 0.01 &&\n"
		"      b.x + b.w <= to.x + to.w + 0.01;\n"
		"    b.g.style.display = inside ? '' : 'none';\n"
		"    const rect = b.g.querySelector('rect'), text = b.g.querySelector('text');\n"
		"    rect.setAttribute('x', x); rect.setAttribute('width', w);\n"
		"    text.setAttribute('x', x + 3);\n"
		"    const n = Math.floor((w - 6) / %d);\n"
		"    text.textContent = n < 3 ? '' : b.name.length <= n ? b.name :\n"
		"      b.name.slice(0, n - 2) + '..';\n"
		"  }\n"
		"}\n"
		"for (const b of boxes) b.g.addEventListener('click', () => zoom(b));\n"
		"]]></script>\n",
		MARGIN, MARGIN, WIDTH - 2 * MARGIN, WIDTH - 2 * MARGIN, WIDTH - 2 * MARGIN, LETTER);
}

void fxt_stacks_print_flame(const struct fxt_stacks *s, const char *title, uint64_t hz, FILE *out)
{
	struct drawing d = {.s = s};
	uint32_t deepest = 0;
	double height;

	lay_out(&d);
	for (uint32_t i = 0; i < s->count; i++)
		deepest = is_drawn(&d, i) && d.depth[i] > deepest ? d.depth[i] : deepest;
	height = HEAD + (deepest + 1) * (double)ROW + MARGIN;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\">\n"
		"<style>text { font: 12px monospace; fill: #000; pointer-events: none } "
		"g[data-x] { cursor: pointer } g[data-x]:hover rect { stroke: #000 }</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
		"<text x=\"%d\" y=\"20\">",
		WIDTH, height, WIDTH, height, MARGIN);
	put_text(title, (WIDTH - 2 * MARGIN) / LETTER, out);
	fputs("</text>\n", out);
	put_box(s, "all", false, 0, s->samples, 0, hz, out);
	for (size_t i = 0; i < s->count; i++) {
		uint32_t at = d.order[i];

		if (is_drawn(&d, at))
			put_box(s, s->list[at].label, s->list[at].is_kernel, d.from[at], s->list[at].total,
				d.depth[at], hz, out);
	}
	put_script(out);
	fputs("</svg>\n", out);
	free(d.order);
	free(d.from);
	free(d.used);
	free(d.depth);
}
