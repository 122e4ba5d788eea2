/* Turns the options of fxt record into the agent's environment variables. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record.h"
#include "tools/common/host_clock.h"
#include "tools/common/message.h"

/* The options that become a variable as they are. */
static const struct setting {
	const char *variable, *option;
	size_t at;                      /* of the value in struct fxt_record_options */
} settings[] = {
#define SETTING(variable, option, member) {variable, option, offsetof(struct fxt_record_options, member)}
	SETTING("FXT_CATEGORIES", "--categories", categories),
	SETTING("FXT_BUFFERING_MODE", "--mode", mode),
	SETTING("FXT_BUFFER_SIZE_MB", "--buffer-size", buffer_mb),
	SETTING("FXT_MAX_SIZE_MB", "--max-size", max_mb),
	SETTING("FXT_THRESHOLD_NS", "--threshold", threshold_ns),
	SETTING("FXT_FILTER", "--filter", filter),
	SETTING("FXT_PATCH", "--patch", patch),
	SETTING("FXT_PLT", "--plt", plt),
	SETTING("FXT_DEPTH", "--depth", depth),
	SETTING("FXT_CALLERS", "--callers", callers),
	SETTING("FXT_EXPLAIN_NS", "--explain", explain_ns),
	SETTING("FXT_STACKS", "--stacks", stacks),
	SETTING("FXT_FOLLOW", "--follow", follow),
	SETTING("FXT_ON_FULL", "--on-full", on_full),
	SETTING("FXT_SIGNAL", "--signal", signal),
	SETTING("FXT_START", "--dormant", start),
	SETTING("FXT_TRIGGER", "--trigger", trigger),
	SETTING("FXT_TRIGGER_KEEP", "--trigger-keep", trigger_keep),
#undef SETTING
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static const char *value_of(const struct fxt_record_options *o, const struct setting *setting)
{
	const char *value;

	memcpy(&value, (const char *)o + setting->at, sizeof(value));
	return value;
}

const char *fxt_record_option_of(const struct fxt_record_options *o, const char *variable, size_t bytes)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (strlen(settings[i].variable) == bytes &&
		    memcmp(settings[i].variable, variable, bytes) == 0 && value_of(o, &settings[i]))
			return settings[i].option;
	}
	return NULL;
}

bool fxt_record_sets_any(const struct fxt_record_options *o)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (value_of(o, &settings[i]))
			return true;
	}
	return false;
}

static void set(const char *name, const char *value)
{
	if (value && setenv(name, value, 1) != 0)
		fxt_error(NULL, "the variable %s could not be set", name);
}

/* Returns the path with its percent signs doubled, because a percent sign begins a field of FXT_OUTPUT. */
static char *without_fields(const char *path)
{
	char *out = fxt_alloc(strlen(path) * 2 + 1, 1);
	char *at = out;

	for (; *path; path++) {
		*at++ = *path;
		if (*path == '%')
			*at++ = '%';
	}
	return out;
}

/* Sets LD_PRELOAD. The library of a sanitizer has to come first: asan refuses to run otherwise, and the
 * leak finder takes what our frames left on the stack for uses of memory. This holds for the command;
 * the agent takes the library out of the list again for its children (FXT_SANITIZER), and asks an
 * instrumented child, and no other program, to do without (ASAN_OPTIONS). */
static void set_preload(const char *agent, const char *sanitizer)
{
	const char *before = getenv("LD_PRELOAD");
	char *preload = fxt_format("%s%s%s%s%s", sanitizer ? sanitizer : "", sanitizer ? ":" : "", agent,
				   before && *before ? ":" : "", before ? before : "");

	set("LD_PRELOAD", preload);
	set("FXT_SANITIZER", sanitizer);
	free(preload);
}

/* Sets the variable by which processes of another namespace of process ids know that their numbers are
 * not unique (koid.h of the agent). */
static void set_namespace(void)
{
	struct stat namespace, proc;
	char *value;

	unsetenv("FXT_NAMESPACE");
	if (stat("/proc/self/ns/pid", &namespace) != 0 || stat("/proc", &proc) != 0)
		return;
	value = fxt_format("%" PRIu64 ":%" PRIu64, (uint64_t)namespace.st_ino, (uint64_t)proc.st_dev);
	set("FXT_NAMESPACE", value);
	free(value);
}

/* Sets the variable by which a process in a time namespace that cannot read how far its clock is ahead finds
 * that out (clock_offset.h of the agent). */
static void set_clock(void)
{
	char *value = fxt_format("%" PRId64, fxt_host_real_ns());

	set("FXT_CLOCK", value);
	free(value);
}

void fxt_record_environment(const struct fxt_record_options *o, const char *agent,
			    const char *parts_directory, const char *sanitizer, const char *manager,
			    const char *key)
{
	char *directory = without_fields(parts_directory);
	char *output = fxt_format("%s/%%e.%%p.fxt", directory), *value;

	set_preload(agent, sanitizer);
	set("FXT_OUTPUT", output);
	/* Programs must not connect to the manager of somebody else. One that cannot connect says nothing of
	 * that, because its file is merged all the same. */
	unsetenv("FXT_MANAGER");
	set("FXT_RUN", key ? key : "-");
	if (manager) {
		value = fxt_format("-%s", manager);
		set("FXT_MANAGER", value);
		free(value);
	}
	for (size_t i = 0; i < SETTINGS; i++)
		set(settings[i].variable, value_of(o, &settings[i]));
	if (o->plt) {
		value = fxt_format("%s,plt", o->categories ? o->categories : "#default");
		set("FXT_CATEGORIES", value);
		free(value);
	}
	/* Without shared memory, processes find one another as they do without fxt record, and must not
	 * use the memory of another run. */
	unsetenv("FXT_SHARED");
	set("FXT_SHARED", o->shared);
	set_namespace();
	set_clock();
	if (o->quiet)
		set("FXT_QUIET", "1");
	free(directory);
	free(output);
}
