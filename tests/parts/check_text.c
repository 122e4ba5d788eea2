/* This tests the text that the program writes (agent/emit/program_text.h): which lines become records, how
 * long ones and those that carriage returns write over end, and who works on which text. Lines of random
 * lengths come in random pieces and are compared with a model. FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>

#include "agent/emit/program_text.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

enum { STEPS = 3000, MOST = FXT_PROGRAM_TEXT_BYTES, ROOM = 4 * MOST };

#define MARK "\xe2\x80\xa6"

static char given[ROOM], kept[ROOM];

static void setup(void)
{
	unsigned i;

	random_seed(0);
	part_setup();
	for (i = 0; i < FXT_PROGRAM_TEXTS; i++)
		EXPECT(!part_thread.texts[i].holder);
}

/* Writes to standard error, in one call of the program. */
static void write_bytes(const char *bytes, size_t count)
{
	struct fxt_program_text *text = fxt_program_text_begin(&part_thread);

	EXPECT(text == part_thread.texts && text->holder);
	fxt_program_text_put(&part_thread, text, bytes, count);
	fxt_program_text_end(&part_thread, text);
	EXPECT(!text->holder);
}

static void write_text(const char *text)
{
	write_bytes(text, strlen(text));
}

START_TEST(lines_become_records)
{
	write_text("one\ntwo");
	SAID("log @1001 t3 \"one\"\n"
	     "instant log:stderr @1001 message=\"one\"\n");
	write_text(" and a half\n");
	SAID("log @1002 t3 \"two and a half\"\n"
	     "instant log:stderr @1002 message=\"two and a half\"\n");
	/* Empty lines, and one that ends as lines of a network do. */
	write_text("\n\r\n\nthree\r\n");
	SAID("log @1003 t3 \"three\"\n"
	     "instant log:stderr @1003 message=\"three\"\n");
	/* A byte that is no text, and characters of each length. */
	write_bytes("a\0b\xff\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n", 14);
	SAID("log @1004 t3 \"a?b?\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n"
	     "instant log:stderr @1004 message=\"a?b?\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
	/* What has no end is recorded when the thread ends, and once. */
	write_text("rest");
	SAID("");
	part_thread.texts[0].holder = 1;
	fxt_program_text_rest(&part_thread);
	SAID("");
	part_thread.texts[0].holder = 0;
	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_log);
	fxt_program_text_rest(&part_thread);
	SAID("");
	atomic_store(&fxt_gate.mask, FXT_CAT_log);
	fxt_program_text_rest(&part_thread);
	SAID("log @1005 t3 \"rest\"\n"
	     "instant log:stderr @1005 message=\"rest\"\n");
	fxt_program_text_rest(&part_thread);
	write_text("gone");
	fxt_program_text_forget(&part_thread);
	fxt_program_text_rest(&part_thread);
	write_text("x\n");
	SAID("log @1006 t3 \"x\"\n"
	     "instant log:stderr @1006 message=\"x\"\n");
}
END_TEST

/* Progress is shown by lines that carriage returns begin again. */
START_TEST(the_last_text_of_a_line_counts)
{
	/* A line that fits is kept as it is. */
	write_text("10 %\r20 %\n");
	SAID("log @1001 t3 \"10 %\r20 %\"\n"
	     "instant log:stderr @1001 message=\"10 %\r20 %\"\n");
	/* Of one that is too long, what comes behind the last return is kept. */
	memset(given, 'y', MOST - 1);
	write_bytes(given, MOST - 1);
	write_text("z\rlast\n");
	SAID("log @1002 t3 \"" MARK "last\"\n"
	     "instant log:stderr @1002 message=\"" MARK "last\"\n");
	write_bytes(given, MOST - 1);
	write_text("zz\r");
	SAID("");
	/* The end of the line may come next, and then nothing took its place. */
	write_text("\n");
	memset(kept, 'y', MOST - 1);
	strcpy(kept + MOST - 1, "z" MARK "\"\n");
	EXPECT(strstr(part_said(), kept));
	write_bytes(given, MOST - 1);
	write_text("zz\r");
	write_text("new");
	write_text("er\rnewest\r");
	write_text("best\n");
	SAID("log @1004 t3 \"" MARK "best\"\n"
	     "instant log:stderr @1004 message=\"" MARK "best\"\n");
	/* The next line begins as any. */
	write_text("a\rb\n");
	SAID("log @1005 t3 \"a\rb\"\n"
	     "instant log:stderr @1005 message=\"a\rb\"\n");
	/* A line that is just as long as there is room for is not too long. */
	write_bytes(given, MOST - 4);
	write_text("a\rbc\n");
	EXPECT(!strncmp(part_said(), "log @1006 t3 \"yyyy", 18));
	/* A return at the end of a piece that was cut. */
	memset(given, 'y', MOST + 5);
	write_bytes(given, MOST + 5);
	write_text("\rthen\n");
	SAID("log @1007 t3 \"" MARK "then\"\n"
	     "instant log:stderr @1007 message=\"" MARK "then\"\n");
}
END_TEST

/* Checks that a text of so many bytes, which is in `given`, was recorded, with the mark if it `is_cut`. */
static void was_said(size_t bytes, bool is_cut)
{
	static char expected[ROOM];
	const char *found = part_said();
	int length = snprintf(expected, sizeof(expected), " message=\"%.*s%s\"\n", (int)bytes, given,
			      is_cut ? MARK : "");

	ck_assert_msg(length < ROOM && strstr(found, expected), "%s", found);
	snprintf(expected, sizeof(expected), " t3 \"%.*s%s\"\n", (int)bytes, given, is_cut ? MARK : "");
	EXPECT(strstr(found, expected));
}

/* A line that is longer than there is room for ends in an ellipsis, behind its last whole character. */
START_TEST(a_long_line_is_cut)
{
	static const char *const characters[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	size_t width = (size_t)_i + 1, lead, bytes, n;

	for (lead = 0; lead < 4; lead++) {
		part_lane(FXT_CHUNK_WORDS);
		memset(given, 'x', lead);
		for (n = lead; n + width < (size_t)ROOM / 2; n += width)
			memcpy(given + n, characters[_i], width);
		write_bytes(given, MOST + 8 - (MOST + 8 - lead) % width);
		write_text("\n");
		bytes = MOST - (MOST - lead) % width;
		was_said(bytes, true);
		/* As long as there is room, and not a byte more. */
		bytes = lead + (MOST - lead) / width * width;
		write_bytes(given, bytes);
		write_text("\n");
		was_said(bytes, false);
	}
}
END_TEST

/* Lines in pieces of any size. */
START_TEST(pieces_make_lines)
{
	size_t lengths[8], length, at, piece, total, i, count;
	unsigned step;

	for (step = 0; step < STEPS; step++) {
		part_lane(FXT_CHUNK_WORDS);
		count = 1 + random_below(3);
		for (i = total = 0; i < count; i++) {
			lengths[i] = random_below(random_below(4) ? 40 : MOST / 2);
			for (length = 0; length < lengths[i]; length++)
				given[total++] = (char)(' ' + random_below(90));
			given[total++] = '\n';
		}
		for (at = 0; at < total; at += piece) {
			piece = 1 + random_below(random_below(2) ? 5 : total);
			if (piece > total - at)
				piece = total - at;
			write_bytes(given + at, piece);
		}
		/* Two records for each line that is not empty. */
		{
			static char expected[ROOM * 4];
			char *end = expected, *from = given;
			uint64_t ns = part_thread.last_ns;

			for (i = 0; i < count; i++)
				ns -= lengths[i] != 0;
			*end = 0;
			for (i = 0; i < count; from += lengths[i] + 1, i++)
				if (lengths[i]) {
					ns++;
					end += sprintf(end,
						       "log @%llu t3 \"%.*s\"\n"
						       "instant log:stderr @%llu message=\"%.*s\"\n",
						       (unsigned long long)ns, (int)lengths[i], from,
						       (unsigned long long)ns, (int)lengths[i], from);
				}
			SAID(expected);
		}
	}
}
END_TEST

#define SYSLOG fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_log, FXT_STR_reason)

START_TEST(a_message_is_one_text)
{
	struct fxt_program_text *text = fxt_program_text_begin_message(&part_thread, SYSLOG, 5), *other;

	EXPECT(text == &part_thread.texts[1]);
	fxt_program_text_put(&part_thread, text, "two\nlines", 9);
	SAID("");
	fxt_program_text_put(&part_thread, text, "\n\n", 2);
	fxt_program_text_end(&part_thread, text);
	SAID("log @1001 t3 \"two\nlines\"\n"
	     "instant log:reason @1001 message=\"two\nlines\" priority=5\n");
	text = fxt_program_text_begin_message(&part_thread, SYSLOG, 0);
	EXPECT(text == &part_thread.texts[1]);
	/* Only a line feed, and a line of a handler meanwhile. */
	fxt_program_text_put(&part_thread, text, "\n", 1);
	other = fxt_program_text_begin(&part_thread);
	EXPECT(other == part_thread.texts);
	fxt_program_text_put(&part_thread, other, "left ", 5);
	{
		/* The handler is interrupted too; what it has at its end is recorded. */
		struct fxt_program_text *third = fxt_program_text_begin(&part_thread);

		EXPECT(third == &part_thread.texts[2] && third->priority == -1);
		fxt_program_text_put(&part_thread, third, "in\nhandler", 10);
		EXPECT(!fxt_program_text_begin(&part_thread) && part.lost[FXT_LOSS_SIGNALS] == 1);
		EXPECT(!fxt_program_text_begin_message(&part_thread, SYSLOG, 1) &&
		       part.lost[FXT_LOSS_SIGNALS] == 2);
		fxt_program_text_end(&part_thread, third);
		SAID("log @1002 t3 \"in\"\n"
		     "instant log:stderr @1002 message=\"in\"\n"
		     "log @1003 t3 \"handler\"\n"
		     "instant log:stderr @1003 message=\"handler\"\n");
		/* It begins empty, whatever it had. */
		third = fxt_program_text_begin(&part_thread);
		EXPECT(third == &part_thread.texts[2] && !third->used && !third->is_cut);
		fxt_program_text_end(&part_thread, third);
	}
	fxt_program_text_end(&part_thread, other);
	fxt_program_text_end(&part_thread, text);
	SAID("");
	write_text("alone\n");
	SAID("log @1004 t3 \"left alone\"\n"
	     "instant log:stderr @1004 message=\"left alone\"\n");
	/* The most urgent priority, and a message that a handler's text left nothing of. */
	text = fxt_program_text_begin_message(&part_thread, SYSLOG, 0);
	fxt_program_text_put(&part_thread, text, "a\nb", 3);
	fxt_program_text_end(&part_thread, text);
	SAID("log @1005 t3 \"a\nb\"\n"
	     "instant log:reason @1005 message=\"a\nb\" priority=0\n");
	/* A message that was cut keeps its line feeds. */
	memset(given, '\n', MOST + 1);
	text = fxt_program_text_begin_message(&part_thread, SYSLOG, -1);
	fxt_program_text_put(&part_thread, text, given, MOST + 1);
	fxt_program_text_end(&part_thread, text);
	snprintf(kept, sizeof(kept), "%.*s" MARK "\" priority=2147483647\n", MOST, given);
	EXPECT(strstr(part_said(), kept));
}
END_TEST

/* A text whose function was left by longjmp is taken again, by code further up on the same stack. */
START_TEST(a_text_that_was_left_is_free)
{
	struct fxt_program_text *text, *texts = part_thread.texts;
	uintptr_t here;

	text = fxt_program_text_begin(&part_thread);
	here = text->holder;
	fxt_program_text_put(&part_thread, text, "kept", 4);
	/* Where the stack lies is not known. */
	EXPECT(fxt_program_text_begin(&part_thread) == &texts[1]);
	fxt_program_text_put(&part_thread, &texts[1], "left", 4);
	EXPECT(texts[1].used == 4 && texts[1].bytes != texts[0].bytes);
	part_thread.stack.low = here - (1 << 16);
	part_thread.stack.high = here + (1 << 16);
	/* The same frame may hold it no more, and one above may. */
	texts[0].holder = here + 4096;
	texts[1].is_cut = texts[1].is_progress = texts[1].is_returned = true;
	EXPECT(fxt_program_text_begin(&part_thread) == &texts[1]);
	/* What was left in it is gone, but the beginning of a line of the thread's own stays. */
	EXPECT(!texts[1].used && !texts[1].is_cut && !texts[1].is_progress && !texts[1].is_returned);
	fxt_program_text_put(&part_thread, &texts[1], "left", 4);
	EXPECT(fxt_program_text_begin_message(&part_thread, SYSLOG, 2) == &texts[1] && !texts[1].used);
	texts[0].holder = here - 4096;
	EXPECT(fxt_program_text_begin(&part_thread) == &texts[0]);
	EXPECT(texts[0].used == 4 && texts[0].holder > here - 4096);
	/* Frames of another stack say nothing. */
	texts[0].holder = part_thread.stack.low - 64;
	texts[1].holder = 0;
	EXPECT(fxt_program_text_begin(&part_thread) == &texts[1]);
	texts[0].holder = here - 4096;
	texts[1].holder = 0;
	part_thread.stack.high = here - 2048;
	EXPECT(fxt_program_text_begin(&part_thread) == &texts[1]);
}
END_TEST

/* Without room for one of the two records, the other is there if it has room, and a lost line is one call. */
START_TEST(what_has_no_room_is_counted)
{
	struct fxt_program_text *text;

	part_lane(0);
	write_text("nothing\n");
	SAID("");
	EXPECT(part.lost[FXT_LOSS_ROOM] == 1 && !part_thread.lanes->raised_at);
	/* The longest text needs no more room than it says. */
	part_lane(2 * (MOST / 8 + 16));
	memset(given, 'w', MOST);
	text = fxt_program_text_begin_message(&part_thread, SYSLOG, 3);
	fxt_program_text_put(&part_thread, text, given, MOST);
	fxt_program_text_end(&part_thread, text);
	EXPECT(strlen(part_said()) > 2 * MOST && part.lost[FXT_LOSS_ROOM] == 1);
	EXPECT(part_thread.lanes->events == 1);
}
END_TEST

int main(void)
{
	TCase *text = tcase_create("text");

	tcase_add_checked_fixture(text, setup, NULL);
	tcase_add_test(text, lines_become_records);
	tcase_add_test(text, the_last_text_of_a_line_counts);
	tcase_add_loop_test(text, a_long_line_is_cut, 0, 4);
	tcase_add_test(text, pieces_make_lines);
	tcase_add_test(text, a_message_is_one_text);
	tcase_add_test(text, a_text_that_was_left_is_free);
	tcase_add_test(text, what_has_no_room_is_counted);
	return RUN_SUITE("text", text);
}
