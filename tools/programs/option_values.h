/* The values of options that say how programs are recorded. fxt record, fxt serve and fxt ctl take them. */
#ifndef FXT_TOOLS_OPTION_VALUES_H
#define FXT_TOOLS_OPTION_VALUES_H

#include <stdint.h>

/* These functions check an option's value before anything runs. They return NULL, or a text that says what is
 * wrong with the value and what is accepted. */
char *fxt_option_bad_categories(const char *list);
char *fxt_option_bad_mode(const char *mode);
char *fxt_option_bad_megabytes(const char *text);

/* Sets *ns to the digits of a duration's nanoseconds, in place of what it had. Returns NULL, or what is wrong
 * with the text. */
char *fxt_option_set_duration(char **ns, const char *text);

/* Sets *ns, in place of what it had, to a list for FXT_THRESHOLD_NS, of durations for all categories
 * (10us) or for one (io=1ms). Returns as above. */
char *fxt_option_set_thresholds(char **ns, const char *text);

/* Sets *bytes to a size such as "64", "64M" (both are MiB), "512K" or "1G". Returns as above. */
char *fxt_option_set_memory(uint64_t *bytes, const char *text);

/* Sets *ns to an age in nanoseconds, in decimal digits, such as "30s", "10m", "2h" or "1d"; one second to a
 * year. Returns as above. */
char *fxt_option_set_age(char **ns, const char *text);

/* Takes SIZE,COUNT: megabytes, and how many older files are kept. Returns as above. */
char *fxt_option_set_rotation(uint64_t *mb, unsigned *count, const char *text);

/* Checks a number of levels, from 1 to 500. Returns as above. */
char *fxt_option_bad_depth(const char *text);

/* Sets *hz to a number of samples in a second, from 0 to 10000. Returns as above. */
char *fxt_option_set_hz(unsigned *hz, const char *text);

/* Returns a duration such as "500", "10us", "1.5ms" or "2s" as the digits of its nanoseconds, which the
 * caller frees. Returns NULL if the text is no duration. */
char *fxt_option_duration_ns(const char *text);

#endif
