/* See import_metadata.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "import_metadata.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/common/message.h"

static const uint32_t MAGIC = 0x75d11d57;

/* The header of a packet of metadata, as far as it is looked at. Sizes are in bits. */
struct packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t checksum, content_bits, packet_bits;
	uint8_t rest[5];
} __attribute__((packed));

/* Reads the header at `at`, in the byte order of this machine. Returns false if it is none, or if its packet
 * goes past the end. */
static bool read_packet(FILE *file, long at, long end, struct packet *p)
{
	if (fseek(file, at, SEEK_SET) != 0 || fread(p, 1, sizeof(*p), file) != sizeof(*p))
		return false;
	if (p->magic == __builtin_bswap32(MAGIC)) {
		p->packet_bits = __builtin_bswap32(p->packet_bits);
		p->content_bits = __builtin_bswap32(p->content_bits);
	} else if (p->magic != MAGIC) {
		return false;
	}
	return p->packet_bits % 8 == 0 && p->packet_bits / 8 <= (uint64_t)(end - at) &&
	       p->content_bits / 8 >= sizeof(*p) && p->content_bits <= p->packet_bits;
}

static bool look(FILE *file, struct fxt_import_directory *d)
{
	struct packet p = {0};
	struct stat st;

	if (fstat(fileno(file), &st) != 0 || fread(&p.magic, 1, sizeof(p.magic), file) != sizeof(p.magic) ||
	    (p.magic != MAGIC && p.magic != __builtin_bswap32(MAGIC)))
		return true; /* it is text */
	for (long at = 0; at < st.st_size; at += p.packet_bits / 8) {
		if (!read_packet(file, at, st.st_size, &p))
			return false;
	}
	memcpy(d->uuid, p.uuid, sizeof(d->uuid));
	d->has_uuid = true;
	return true;
}

bool fxt_import_metadata_look(struct fxt_import_directory *d)
{
	char *path = fxt_format("%s/metadata", d->path);
	FILE *file = fopen(path, "re");
	bool ok = !file || look(file, d);

	free(path);
	if (file)
		fclose(file);
	return ok;
}
