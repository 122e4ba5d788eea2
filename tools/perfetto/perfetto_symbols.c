/* Packets with the lines of source and the inlined functions of frames. See perfetto_packets.h.
 *
 * Perfetto takes such a line for an address of a file to which a frame refers already, so these packets have
 * a time that is as late as any other.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_PROTOBUF_C

#include "perfetto_packets.h"

#include <stdlib.h>
#include <time.h>

#include "tools/common/memory_limit.h"
#include "tools/common/message.h"

/* A packet has at most so many addresses, and about so many bytes of names. The longest name that is written
 * leaves it smaller than a record by far. */
enum { MOST_ADDRESSES = 32, MOST_TEXT = 2048, MOST_LINES = 256 };
static const size_t MOST_BYTES = FXT_PACKET_BYTES / 2;

/* What a program's debug information takes to read depends on its size, and whoever runs fxt record waits. It
 * takes memory, too, which a small container does not have. */
static const uint64_t MOST_NS = 2000000000, LEAST_MEMORY = 1 << 30;

typedef Perfetto__ModuleSymbols__AddressSymbols symbols_t;
typedef Perfetto__ModuleSymbols__AddressSymbols__Line line_t;

/* The packet that is being filled. */
struct filling {
	struct fxt_packets *packets;
	const struct fxt_profile *p;
	const struct fxt_profile_mapping *mapping;
	symbols_t addresses[MOST_ADDRESSES], *address_list[MOST_ADDRESSES];
	line_t lines[MOST_LINES], *line_list[MOST_LINES];
	char *texts[2 * MOST_LINES];
	size_t address_count, line_count, text_count, bytes;
};

static uint64_t spent_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct fxt_text text_of(const struct fxt_profile *p, uint32_t string)
{
	return (struct fxt_text){.text = string ? p->strings[string - 1].text : "",
				 .bytes = string ? p->strings[string - 1].bytes : 0};
}

static void write_packet(struct filling *f)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ModuleSymbols module = PERFETTO__MODULE_SYMBOLS__INIT;
	struct fxt_text build_id;

	if (f->address_count) {
		build_id = text_of(f->p, f->mapping->build_id);
		module.path = (char *)(uintptr_t)text_of(f->p, f->mapping->path).text;
		module.has_build_id = build_id.bytes != 0;
		module.build_id.data = (uint8_t *)(uintptr_t)build_id.text;
		module.build_id.len = build_id.bytes;
		module.n_address_symbols = f->address_count;
		module.address_symbols = f->address_list;
		packet.module_symbols = &module;
		fxt_packets_put(f->packets, &packet);
	}
	while (f->text_count)
		free(f->texts[--f->text_count]);
	f->address_count = f->line_count = f->bytes = 0;
}

/* Returns a text that lives until the packet is written. */
static char *keep(struct filling *f, const char *text)
{
	char *kept = fxt_format("%.*s", MOST_TEXT, text);

	f->bytes += strlen(kept);
	f->texts[f->text_count++] = kept;
	return kept;
}

static void put_place(struct filling *f, uint64_t address, const struct fxt_frame_place *place)
{
	symbols_t *to;

	if (f->address_count == MOST_ADDRESSES || f->line_count + place->count > MOST_LINES ||
	    f->bytes > MOST_BYTES)
		write_packet(f);
	to = &f->addresses[f->address_count];
	*to = (symbols_t)PERFETTO__MODULE_SYMBOLS__ADDRESS_SYMBOLS__INIT;
	to->has_address = true;
	to->address = address;
	to->lines = &f->line_list[f->line_count];
	for (size_t i = 0; i < place->count && f->bytes < FXT_PACKET_BYTES - 4 * MOST_TEXT; i++) {
		const struct fxt_code_level *level = &place->levels[i];
		line_t *line = &f->lines[f->line_count];

		*line = (line_t)PERFETTO__MODULE_SYMBOLS__ADDRESS_SYMBOLS__LINE__INIT;
		line->function_name = keep(f, level->function ? level->function : "[unknown]");
		if (level->file)
			line->source_file_name = keep(f, level->file);
		line->has_line_number = level->line > 0;
		line->line_number = (uint32_t)level->line;
		f->line_list[f->line_count++] = line;
		to->n_lines++;
	}
	f->address_list[f->address_count++] = to;
}

static int by_address(const void *a, const void *b)
{
	const struct fxt_profile_frame *x = *(const struct fxt_profile_frame *const *)a,
				       *y = *(const struct fxt_profile_frame *const *)b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

/* Returns the build id in hexadecimal digits. */
static char *digits_of(struct fxt_text bytes)
{
	char *digits = fxt_alloc(1, 2 * (size_t)bytes.bytes + 1);

	for (uint32_t i = 0; i < bytes.bytes; i++)
		snprintf(digits + (size_t)2 * i, 3, "%02x", (unsigned char)bytes.text[i]);
	return digits;
}

void fxt_packets_symbols(struct fxt_packets *k, const struct fxt_profile *p, struct fxt_frame_names *names)
{
	const struct fxt_profile_frame **frames = fxt_alloc(p->frame_count + 1, sizeof(*frames));
	struct filling *f = fxt_alloc(1, sizeof(*f));
	uint64_t end_ns = spent_ns() + MOST_NS;
	char *digits = NULL;

	if (fxt_memory_there_is() < LEAST_MEMORY)
		names = NULL;
	f->packets = k;
	f->p = p;
	for (size_t i = 0; i < p->frame_count; i++)
		frames[i] = &p->frames[i];
	if (names)
		qsort(frames, p->frame_count, sizeof(*frames), by_address);
	for (size_t i = 0; names && i < p->frame_count && spent_ns() < end_ns; i++) {
		const struct fxt_profile_mapping *mapping = &p->mappings[frames[i]->mapping - 1];
		const struct fxt_frame_place *place;
		struct fxt_frame_at at = {.path.text = ""};

		if (i && by_address(&frames[i - 1], &frames[i]) == 0)
			continue;
		if (mapping != f->mapping) {
			write_packet(f);
			f->mapping = mapping;
			free(digits);
			digits = digits_of(text_of(p, mapping->build_id));
		}
		if (!mapping->path)
			continue;
		at = (struct fxt_frame_at){text_of(p, mapping->path), fxt_text_of(digits), frames[i]->offset};
		if (!fxt_frame_has_own_lines(names, &at))
			continue;
		place = fxt_frame_place(names, &at);
		if (place->levels[0].file)
			put_place(f, frames[i]->offset, place);
	}
	write_packet(f);
	free(digits);
	free(f);
	free(frames);
}

#endif
