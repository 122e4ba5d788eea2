/* See label.h. Writes names as text. Any context. */
#include "label.h"

#include <string.h>

#include "writer/decimal.h"
#include "writer/fxt_encode.h"

/* A text with its length. The length is stored, because each malloc() that has a lifetime writes a label. */
struct piece {
	const char *text;
	size_t bytes;
};

#define PIECE(text) {text, sizeof(text) - 1}

static const struct piece kind_names[FXT_LABEL_KINDS] = {
	PIECE(""), PIECE("mutex"), PIECE("cond"), PIECE("rwlock"), PIECE("spinlock"), PIECE("sem"),
	PIECE("barrier"), PIECE("FILE"), PIECE("DIR"), PIECE("block"),
};

static unsigned digits_of(uint32_t offset)
{
	unsigned n = 0;

	for (; offset; offset >>= 4)
		n++;
	return n;
}

static const struct piece *joint_of(const struct fxt_label *label)
{
	static const struct piece joints[] = {
		[FXT_LABEL_SYMBOL] = PIECE(""), [FXT_LABEL_MADE] = PIECE(" of "),
		[FXT_LABEL_USED] = PIECE(" first used by "),
		[FXT_LABEL_PATH] = PIECE(" "), [FXT_LABEL_FD] = PIECE(" of descriptor "),
	};
	static const struct piece of_cut_path = PIECE(" ..");

	return label->how == FXT_LABEL_PATH && label->offset ? &of_cut_path : &joints[label->how];
}

size_t fxt_label_bytes(const struct fxt_label *label)
{
	if (label->how == FXT_LABEL_SYMBOL)
		return label->bytes + (label->offset ? 3 + digits_of(label->offset) : 0);
	return kind_names[label->kind].bytes + joint_of(label)->bytes + label->bytes;
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
		out = append(out, kind_names[label->kind].text, kind_names[label->kind].bytes);
		out = append(out, joint_of(label)->text, joint_of(label)->bytes);
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
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), FXT_STR_object) |
	      fxt_arg_string(fxt_inline_ref(bytes));
	return at + 1 + words;
}
