/* See import_graph.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_graph.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"

struct fxt_late_library fxt_import_library = {.name = "libbabeltrace2.so.0"};

struct running {
	fxt_import_take *take;
	void *context;
	char *wrong;                    /* what the caller has said */
};

/* Returns the first cause of the library's error, as one line without addresses of its memory. */
static char *library_error(void)
{
	const bt_error *error = bt_current_thread_take_error();
	const char *message;
	char *text, *to, *addresses;

	if (!error)
		return fxt_strdup("libbabeltrace2 does not say why");
	message = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
	text = to = fxt_alloc(strlen(message) + 1, 1);
	for (; *message; message++) {
		bool is_space = strchr(" \t\r\n", *message) != NULL;

		if (is_space && (to == text || to[-1] == ' '))
			continue;
		*to = ' ';
		if (!is_space)
			*to = *message;
		to++;
	}
	while (to > text && strchr(" .:", to[-1]))
		to--;
	*to = '\0';
	bt_error_release(error);
	addresses = strstr(text, "-addr=");
	while (addresses && addresses > text && *addresses != ':')
		addresses--;
	if (addresses)
		*addresses = '\0';
	if (strstr(text, "Cannot create trace for") != text)
		return text;
	free(text);
	return fxt_strdup("its metadata is no CTF 1.8, or is damaged");
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator,
								  void *context)
{
	struct running *run = context;
	bt_message_array_const messages;
	uint64_t count;
	bt_message_iterator_next_status status = bt_message_iterator_next(iterator, &messages, &count);

	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)status;
	alarm(FXT_IMPORT_PATIENCE_S);
	for (uint64_t i = 0; i < count; i++) {
		if (!run->wrong)
			run->wrong = run->take(run->context, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return run->wrong ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR
			  : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *plugin = NULL;

	bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin);
	return plugin;
}

/* Returns whether both directories are parts of one trace. */
static bool is_same_trace(const struct fxt_import_directory *a, const struct fxt_import_directory *b)
{
	return a == b || (a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0);
}

/* Returns what a source has to read: all parts of the trace that the directory is the first part of. */
static bt_value *parameters_of(const struct fxt_import_directory *directories, size_t first, size_t count)
{
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	bool ok = params && bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
				    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK;

	for (size_t i = first; ok && i < count; i++) {
		if (is_same_trace(&directories[first], &directories[i]))
			ok = bt_value_array_append_string_element(inputs, directories[i].path) ==
			     BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK;
	}
	if (ok)
		return params;
	bt_value_put_ref(params);
	return NULL;
}

/* Adds a source for one trace, and connects all of its streams to the muxer. */
static bool add_source(bt_graph *graph, const bt_component_class_source *class, const bt_value *params,
		       const char *name, const bt_component_filter *muxer, uint64_t *streams)
{
	const bt_component_source *source;
	bool ok = params && bt_graph_add_source_component(graph, class, name, params, BT_LOGGING_LEVEL_NONE,
							  &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
	uint64_t count = ok ? bt_component_source_get_output_port_count(source) : 0;

	for (uint64_t i = 0; ok && i < count; i++)
		/* The muxer makes another port whenever its last one is connected. */
		ok = bt_graph_connect_ports(
			     graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			     bt_component_filter_borrow_input_port_by_index_const(muxer, (*streams)++),
			     NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
	return ok;
}

/* Makes the graph. Returns false with an error of the library. */
static bool make(bt_graph *graph, const bt_plugin *ctf, const bt_plugin *utils,
		 const struct fxt_import_directory *directories, size_t count, struct running *run)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	const bt_component_class_filter *mux =
		bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
	uint64_t streams = 0;

	if (!class || !mux ||
	    bt_graph_add_filter_component(graph, mux, "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer) !=
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t first = 0;
		bt_value *params;
		char *name;
		bool ok;

		while (!is_same_trace(&directories[first], &directories[i]))
			first++;
		/* An earlier part has added the source. */
		if (first < i)
			continue;
		params = parameters_of(directories, i, count);
		name = fxt_format("source %zu", i);
		ok = add_source(graph, class, params, name, muxer, &streams);
		free(name);
		bt_value_put_ref(params);
		if (!ok)
			return false;
	}
	return bt_graph_add_simple_sink_component(graph, "fxt", NULL, consume, NULL, run, &sink) ==
		       BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	       bt_graph_connect_ports(graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
				      bt_component_sink_borrow_input_port_by_index_const(sink, 0),
				      NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
}

char *fxt_import_graph_run(const struct fxt_import_directory *directories, size_t count,
			   fxt_import_take *take, void *context)
{
	struct running run = {.take = take, .context = context};
	const bt_plugin *ctf, *utils;
	bt_graph *graph;
	char *wrong = NULL;

	alarm(FXT_IMPORT_PATIENCE_S);
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	ctf = find_plugin("ctf");
	utils = find_plugin("utils");
	if (!ctf || !utils)
		return fxt_strdup("the plugins of libbabeltrace2 are missing (Debian: libbabeltrace2-0)");
	graph = bt_graph_create(0);
	if (!graph || !make(graph, ctf, utils, directories, count, &run) ||
	    bt_graph_run(graph) != BT_GRAPH_RUN_STATUS_OK)
		wrong = run.wrong ? run.wrong : library_error();
	bt_graph_put_ref(graph);
	bt_plugin_put_ref(ctf);
	bt_plugin_put_ref(utils);
	return wrong;
}

#endif
