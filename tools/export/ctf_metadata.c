/* Writes the metadata of a CTF trace: what all packets have, the clock, the environment, and behind them the
 * classes. docs/ctf.md says why each thing is as it is. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unconfigured"
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ctf.h"

static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; base = 16; } := byte_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := koid_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer_t;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = le; } := double_t;\n"
	"typealias enum : uint8_t { \"false\" = 0, \"true\" = 1 } := bool_t;\n\n";

static void put_uuid(FILE *out, const unsigned char uuid[16])
{
	for (int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void put_trace(FILE *out, const struct fxt_ctf_directory *d)
{
	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", out);
	put_uuid(out, d->uuid);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
	      "\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n"
	      "\t};\n};\n\n",
	      out);
}

/* A host whose name is not told has that which every host has. */
static void put_environment(FILE *out, const struct fxt_ctf *c, bool is_kernels)
{
	const char *name = c->hostname ? c->hostname : "localhost";
	struct fxt_text host = fxt_text_of(c->has_hosts ? "several" : name);

	fputs("env {\n\thostname = \"", out);
	fxt_ctf_put_quoted(out, &host);
	fprintf(out, "\";\n\tdomain = \"%s\";\n", is_kernels ? "kernel" : "ust");
	fprintf(out, "\ttracer_name = \"%s\";\n", is_kernels ? "lttng-modules" : "lttng-ust");
	fputs("\ttracer_major = 2;\n\ttracer_minor = 13;\n\ttracer_patchlevel = 0;\n", out);
	if (!is_kernels)
		fputs("\ttracer_buffering_scheme = \"uid\";\n\ttracer_buffering_id = 0;\n"
		      "\tarchitecture_bit_width = 64;\n",
		      out);
	else
		fputs("\tsysname = \"Linux\";\n", out);
	fprintf(out, "\tproduct = \"fxtagent\";\n\tproduct_version = \"%s\";\n", PACKAGE_VERSION);
	fputs("};\n\n", out);
}

/* The clock's offset makes times those since 1970, if the trace tells that and the sum is one that readers
 * can count with. */
static void put_clock(FILE *out, const struct fxt_ctf *c)
{
	uint64_t offset_ns = c->clock.is_known ? c->clock.real_ns : 0;

	if (offset_ns > INT64_MAX || c->last_ns >= INT64_MAX - offset_ns)
		offset_ns = 0;
	fputs("clock {\n\tname = \"monotonic\";\n\tuuid = \"", out);
	put_uuid(out, c->clock_uuid);
	fprintf(out,
		"\";\n\tdescription = \"CLOCK_BOOTTIME\";\n\tfreq = 1000000000;\n\toffset_s = %" PRIu64
		";\n\toffset = %" PRIu64 ";\n\tabsolute = false;\n};\n\n",
		offset_ns / 1000000000, offset_ns % 1000000000);
	fputs("typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := "
	      "time_t;\n\n",
	      out);
}

/* A stream of a processor says which one in each packet. */
static void put_stream(FILE *out, const struct fxt_ctf_directory *d, unsigned class, bool is_kernels)
{
	fprintf(out,
		"stream {\n\tid = %u;\n\tpacket.context := struct {\n\t\ttime_t timestamp_begin;\n"
		"\t\ttime_t timestamp_end;\n\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
		"\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n%s\t};\n",
		class, is_kernels || class == FXT_CTF_OF_CPU ? "\t\tuint32_t cpu_id;\n" : "");
	fprintf(out, "\tevent.header := struct {\n\t\t%s id;\n\t\ttime_t timestamp;\n\t};\n",
		d->classes.count > UINT16_MAX ? "uint32_t" : "uint16_t");
	if (!is_kernels)
		fputs("\tevent.context := struct {\n\t\tint32_t _vpid;\n\t\tint32_t _vtid;\n"
		      "\t\tstring _procname;\n\t\tpointer_t _ip;\n\t};\n",
		      out);
	fputs("};\n\n", out);
}

int fxt_ctf_write_metadata(struct fxt_ctf *c, const struct fxt_ctf_directory *d)
{
	bool is_kernels = d == &c->kernel, ok;
	char *path = fxt_format("%s/metadata", d->path);
	FILE *out = fopen(path, "wxe");

	free(path);
	if (!out)
		return errno;
	errno = 0;
	fputs("/* CTF 1.8 */\n\n", out);
	fputs(types, out);
	put_trace(out, d);
	put_environment(out, c, is_kernels);
	put_clock(out, c);
	put_stream(out, d, FXT_CTF_OF_PROCESS, is_kernels);
	if (!is_kernels)
		put_stream(out, d, FXT_CTF_OF_CPU, false);
	ok = fxt_ctf_classes_put(&d->classes, out) && !ferror(out);
	if ((fclose(out) != 0 || !ok))
		return errno ? errno : EIO;
	return 0;
}
