/* The strings of a trace that a gap asks for, to know what an event is. A gap has the strings of its file.
 * Where the disk was full there is no file, and archive_lost.c remembers these alone of what programs have
 * registered.
 */
#ifndef FXT_TOOLS_ARCHIVE_GAP_TEXTS_H
#define FXT_TOOLS_ARCHIVE_GAP_TEXTS_H

#define FXT_GAP_TEXTS(TEXT)          \
	TEXT(AGENT, "agent")         \
	TEXT(PROCESS, "process")     \
	TEXT(KERNEL, "kernel")       \
	TEXT(LOST, "lost")           \
	TEXT(ENDED, "ended")         \
	TEXT(EXECUTED, "executed")   \
	TEXT(SAMPLING, "sampling")   \
	TEXT(IO_URING, "io_uring")   \
	TEXT(BLOCKED, "blocked")     \
	TEXT(CONTENDED, "contended") \
	TEXT(UNLOCKED, "unlocked")

enum fxt_gap_text {
#define NUMBER(name, text) FXT_GAP_TEXT_##name,
	FXT_GAP_TEXTS(NUMBER)
#undef NUMBER
		FXT_GAP_TEXT_COUNT
};

extern const char *const fxt_gap_texts[FXT_GAP_TEXT_COUNT];

#endif
