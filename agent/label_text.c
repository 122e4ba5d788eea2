/* How labels are written: see label.h. Any context. */
#include "label.h"

#include <string.h>

#include "writer/decimal.h"
#include "writer/fxt_encode.h"

static const char *const kind_names[FXT_LABEL_KINDS] = {
	"", "mutex", "cond", "rwlock", "spinlock", "sem", "barrier", "FILE", "DIR", "block",
};

static unsigned digits_of(uint32_t offset)
{
	unsigned n = 0;

	for (; offset; offset >>= 4)
		n++;
	return n;
}

static const char *joint_of(const struct fxt_label *label)
{
	static const char *const joints[] = {
		[FXT_LABEL_SYMBOL] = "", [FXT_LABEL_MADE] = " of ", [FXT_LABEL_USED] = " first used by ",
		[FXT_LABEL_PATH] = " ", [FXT_LABEL_FD] = " of descriptor ",
	};

	return label->how == FXT_LABEL_PATH && label->offset ? " .." : joints[label->how];
}

size_t fxt_label_bytes(const struct fxt_label *label)
{
	if (label->how == FXT_LABEL_SYMBOL)
		return label->bytes + (label->offset ? 3 + digits_of(label->offset) : 0);
	return strlen(kind_names[label->kind]) + strlen(joint_of(label)) + label->bytes;
}

static char *append(char *out, const char *text, size_t bytes)
{
	memcpy(out, text, bytes);
	return out + bytes;
}

void fxt_label_compose(char *out, const struct fxt_label *label)
{
	unsigned n = digits_of(label->offset);

	if (label->how != FXT_LABEL_SYMBOL) {
		out = append(out, kind_names[label->kind], strlen(kind_names[label->kind]));
		out = append(out, joint_of(label), strlen(joint_of(label)));
	}
	if (label->how == FXT_LABEL_FD)
		fxt_decimal(out, label->offset);
	else if (label->how == FXT_LABEL_PATH)
		fxt_utf8_clean(out, label->text, label->bytes, label->bytes);
	else
		out = append(out, label->text, label->bytes);
	if (label->how == FXT_LABEL_SYMBOL && n) {
		out = append(out, "+0x", 3);
		while (n--)
			*out++ = "0123456789abcdef"[label->offset >> 4 * n & 15];
	}
}

uint64_t *fxt_put_label(uint64_t *at, const struct fxt_label *label)
{
	size_t bytes = fxt_label_bytes(label), words = fxt_words_of(bytes);

	at[words] = 0;
	fxt_label_compose((char *)(at + 1), label);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), FXT_STR_object) | fxt_arg_string(fxt_inline_ref(bytes));
	return at + 1 + words;
}
