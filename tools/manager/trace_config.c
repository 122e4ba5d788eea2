/* See trace_config.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "trace_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/common/message.h"

enum {
	DEFAULT_MB = 64,
	MOST_MB = 4096,
	START_TIMEOUT_MS = 250,
	MOST_SPECS = 100,               /* as the interface has it */
	MOST_TIMEOUT_MS = 24 * 3600 * 1000,
};

/* Returns what is wrong if an object has a member that is not among `known`, which ends with NULL. */
static char *unknown_member(const json_t *object, const char *what, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value) {
		size_t i;

		for (i = 0; known[i] && strcmp(known[i], key) != 0; i++)
			;
		if (!known[i])
			return fxt_format("%s has no member '%s'", what, key);
	}
	return NULL;
}

/* Reads a number from `least` to `most`, if the member is there. */
static char *read_number(const json_t *object, const char *key, uint64_t least, uint64_t most,
			 uint64_t *number)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		return NULL;
	if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)least ||
	    (uint64_t)json_integer_value(value) > most)
		return fxt_format("%s has to be a number from %llu to %llu", key, (unsigned long long)least,
				  (unsigned long long)most);
	*number = (uint64_t)json_integer_value(value);
	return NULL;
}

static char *read_bool(const json_t *object, const char *key, bool *flag)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_boolean(value))
		return fxt_format("%s has to be true or false", key);
	if (value)
		*flag = json_is_true(value);
	return NULL;
}

/* Reads one of `count` names, whose numbers begin with `first`. */
static char *read_name(const json_t *object, const char *key, const char *const *names, unsigned first,
		       unsigned count, unsigned *number)
{
	const json_t *value = json_object_get(object, key);
	char *bad, *more;

	if (!value)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		if (json_is_string(value) && strcasecmp(json_string_value(value), names[i]) == 0) {
			*number = first + i;
			return NULL;
		}
	}
	bad = fxt_format("%s has to be one of", key);
	for (unsigned i = 0; i < count; i++) {
		more = fxt_format("%s%s %s", bad, i ? "," : "", names[i]);
		free(bad);
		bad = more;
	}
	return bad;
}

/* Reads an array of categories into a list as FXT_CATEGORIES has it. An empty array stands for all. `*list`
 * stays as it is if the member is not there. */
static char *read_categories(const json_t *object, const char *key, char **list)
{
	const json_t *value = json_object_get(object, key), *item;
	char *joined = NULL, *more;
	size_t i;

	if (!value)
		return NULL;
	if (!json_is_array(value))
		return fxt_format("%s has to be an array of names", key);
	json_array_foreach(value, i, item) {
		const char *name = json_string_value(item);

		if (!name || !*name || strpbrk(name, ", ")) {
			free(joined);
			return fxt_format("%s has to be an array of names", key);
		}
		more = joined ? fxt_format("%s,%s", joined, name) : fxt_strdup(name);
		free(joined);
		joined = more;
	}
	if (!joined)
		joined = fxt_strdup("*");
	if (strlen(joined) > 2048) {
		free(joined);
		return fxt_format("%s is too long", key);
	}
	/* Programs may come that have categories which are not known here. */
	free(*list);
	*list = joined;
	return NULL;
}

/* Reads how large a buffer shall be, if the member is there. That is a hint: 0 leaves it to the provider, and
 * what is too much is cut. */
static char *read_size(const json_t *object, const char *key, uint64_t *bytes)
{
	uint64_t megabytes = *bytes >> 20;
	char *bad = read_number(object, key, 0, UINT32_MAX, &megabytes);

	*bytes = (megabytes < MOST_MB ? megabytes : MOST_MB) << 20;
	return bad;
}

static char *read_spec(struct fxt_provider_spec *spec, const json_t *object)
{
	static const char *const members[] = {"name", "buffer_size_megabytes_hint", "categories", NULL};
	const char *name = json_string_value(json_object_get(object, "name"));
	char *bad;

	if (!json_is_object(object) || !name)
		return fxt_strdup("provider_specs has to be an array of objects with a name each");
	bad = unknown_member(object, "a ProviderSpec", members);
	if (!bad)
		bad = read_size(object, members[1], &spec->buffer_bytes);
	if (!bad)
		bad = read_categories(object, members[2], &spec->categories);
	spec->name = fxt_strdup(name);
	spec->has_size = json_object_get(object, members[1]);
	return bad;
}

static char *read_specs(struct fxt_trace_config *config, const json_t *params)
{
	const json_t *value = json_object_get(params, "provider_specs"), *item;
	char *bad = NULL;
	size_t i;

	if (!value)
		return NULL;
	if (!json_is_array(value) || json_array_size(value) > MOST_SPECS)
		return fxt_format("provider_specs has to be an array of at most %d objects", MOST_SPECS);
	config->specs = fxt_alloc(json_array_size(value) + 1, sizeof(*config->specs));
	json_array_foreach(value, i, item) {
		if (!bad)
			bad = read_spec(&config->specs[config->spec_count++], item);
	}
	return bad;
}

/* A client that knows only older versions than 0.1 cannot read what is written. */
static char *read_version(const json_t *params)
{
	static const char *const members[] = {"major", "minor", NULL};
	const json_t *version = json_object_get(params, "version");
	uint64_t major = 0, minor = 1;
	char *bad;

	if (!version)
		return NULL;
	if (!json_is_object(version))
		return fxt_strdup("version has to be an object with major and minor");
	bad = unknown_member(version, "version", members);
	if (!bad)
		bad = read_number(version, "major", 0, UINT32_MAX, &major);
	if (!bad)
		bad = read_number(version, "minor", 0, UINT32_MAX, &minor);
	if (!bad && !major && !minor)
		bad = fxt_strdup("version 0.0 of the format is not written; the oldest is 0.1");
	return bad;
}

char *fxt_trace_config_read(struct fxt_trace_config *config, bool *defers, const json_t *params)
{
	static const char *const modes[] = {"oneshot", "circular", "streaming"};
	static const char *const members[] = {
		"categories", "buffer_size_megabytes_hint", "start_timeout_milliseconds", "buffering_mode",
		"provider_specs", "version", "defer_transfer", NULL};
	uint64_t timeout_ms = START_TIMEOUT_MS;
	unsigned mode = FXT_BUFFERING_ONESHOT;
	char *bad = unknown_member(params, "TraceConfig", members);

	*config = (struct fxt_trace_config){.categories = fxt_strdup(""),
					    .buffer_bytes = (uint64_t)DEFAULT_MB << 20};
	*defers = false;
	if (!bad)
		bad = read_categories(params, members[0], &config->categories);
	if (!bad)
		bad = read_size(params, members[1], &config->buffer_bytes);
	if (!bad)
		bad = read_number(params, members[2], 0, MOST_TIMEOUT_MS, &timeout_ms);
	if (!bad)
		bad = read_name(params, members[3], modes, 0, 3, &mode);
	if (!bad)
		bad = read_specs(config, params);
	if (!bad)
		bad = read_version(params);
	if (!bad)
		bad = read_bool(params, members[6], defers);
	config->mode = (enum fxt_buffering_mode)mode;
	/* In the other modes nothing is sent before a stop asks for it. */
	*defers = *defers && mode == FXT_BUFFERING_STREAMING;
	config->start_timeout_ns = timeout_ms * 1000000;
	if (bad)
		fxt_trace_config_free(config);
	return bad;
}

char *fxt_start_options_read(enum fxt_buffer_disposition *disposition, char **categories,
			     const json_t *params)
{
	static const char *const dispositions[] = {"CLEAR_ENTIRE", "CLEAR_NONDURABLE", "RETAIN"};
	static const char *const members[] = {"buffer_disposition", "additional_categories", NULL};
	unsigned number = FXT_RETAIN;
	char *bad = unknown_member(params, "StartOptions", members);

	*categories = NULL;
	if (!bad)
		bad = read_name(params, members[0], dispositions, FXT_CLEAR_ENTIRE, 3, &number);
	if (!bad)
		bad = read_categories(params, members[1], categories);
	*disposition = (enum fxt_buffer_disposition)number;
	return bad;
}

char *fxt_stop_options_read(bool *writes_results, const json_t *params)
{
	static const char *const members[] = {"write_results", NULL};
	char *bad = unknown_member(params, "StopOptions", members);

	*writes_results = false;
	return bad ? bad : read_bool(params, members[0], writes_results);
}
