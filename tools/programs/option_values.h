/* The values of options that say how programs are recorded. fxt record, fxt serve and fxt ctl take them. */
#ifndef FXT_TOOLS_OPTION_VALUES_H
#define FXT_TOOLS_OPTION_VALUES_H

#include <stddef.h>
#include <stdint.h>

/* These functions check an option's value before anything runs. They return NULL, or a text that says what is
 * wrong with the value and what is accepted. */
char *fxt_option_bad_categories(const char *list);
char *fxt_option_bad_mode(const char *mode);
char *fxt_option_bad_on_full(const char *what);
/* A size may have `most` megabytes. */
char *fxt_option_bad_megabytes(const char *text, unsigned most);
/* The word has to be one of `words`. */
char *fxt_option_bad_word(const char *word, const char *const *words, size_t count);

enum {
	/* The sizes that the agent takes for its file (FXT_BUFFER_SIZE_MB, FXT_MAX_SIZE_MB). */
	FXT_OPTION_MOST_BUFFER_MB = 16384,
	FXT_OPTION_MOST_MAX_MB = 1048576
};

/* Sets *ns to the digits of the nanoseconds of a time with its unit (10us, 1.5ms, 2s, 5m, 1h; 0 needs none),
 * in place of what it had. It is an hour at most. Returns NULL, or what is wrong with the text. */
char *fxt_option_set_duration(char **ns, const char *text);

/* Does the same for how long something lasts: more than nothing, and a year at most. */
char *fxt_option_set_period(char **ns, const char *text);

/* Does the same for a time in a trace: a year after its beginning at most. */
char *fxt_option_set_moment(char **ns, const char *text);

/* Sets *ns, in place of what it had, to a list for FXT_THRESHOLD_NS, of durations for all categories
 * (10us) or for one (io=1ms). Returns as above. */
char *fxt_option_set_thresholds(char **ns, const char *text);

/* Sets *bytes to a size such as "64", "64M" (both are MiB), "512K" or "1G". Returns as above. */
char *fxt_option_set_memory(uint64_t *bytes, const char *text);

/* Does the same for an age, which is a second to a year. */
char *fxt_option_set_age(char **ns, const char *text);

/* Takes SIZE,COUNT: megabytes, and how many older files are kept. Returns as above. */
char *fxt_option_set_rotation(uint64_t *mb, unsigned *count, const char *text);

/* Checks a number of levels, from 1 to 500. Returns as above. */
char *fxt_option_bad_depth(const char *text);

/* Sets *hz to a number of samples in a second, from 0 to 10000. Returns as above. */
char *fxt_option_set_hz(unsigned *hz, const char *text);

#endif
