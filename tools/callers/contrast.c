/* Finds the telling frame. See contrast.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/map.h"
#include "tools/common/message.h"

/* An item on the way outwards: `path` is that of the function which all items of the set have in common. */
struct walker {
	struct fxt_contrast_item item;
	uint32_t path;
};

/* The items of one caller. */
struct group {
	uint32_t name, module;
	double all, bad;
};

/* Returns a bound of the share that `bad` of `all` stand for, as Wilson has it: the lower one, or the upper
 * one. A share beyond it is an accident in one of 200 cases. */
static double bound(double bad, double all, bool is_upper)
{
	const double z = 2.58;
	double share, middle, width;

	if (all <= 0)
		return is_upper ? 1 : 0;
	share = bad < all ? bad / all : 1;
	middle = share + z * z / (2 * all);
	width = z * sqrt(share * (1 - share) / all + z * z / (4 * all * all));
	return (middle + (is_upper ? width : -width)) / (1 + z * z / all);
}

/* Returns whether what this caller did went wrong more often, or took longer, than what others did. */
static bool jumps(enum fxt_contrast_by by, const struct group *g, const struct group *all)
{
	const double few = 3, longer = 4, most = 0.8;
	double others = all->all - g->all, others_bad = all->bad - g->bad;

	if (by == FXT_BY_SHARE)
		return bound(g->bad, g->all, false) > bound(others_bad, others, true);
	return g->all >= few && others >= few && g->bad >= all->bad * most &&
	       g->bad / g->all >= longer * others_bad / others;
}

/* Returns the path of the caller in `paths`, or FXT_NO_PATH. */
static uint32_t caller_of(const struct fxt_call_paths *paths, uint32_t path)
{
	return path == FXT_NO_PATH ? FXT_NO_PATH : paths->list[path].caller;
}

/* Finds the caller that has most of what went wrong, and the sums of all. Returns how many callers there are;
 * an item without one is a caller of its own. */
static size_t find_worst(const struct fxt_call_paths *paths, const struct walker *set, size_t count,
			 struct group *worst, struct group *all)
{
	struct group *groups = fxt_alloc(count, sizeof(*groups));
	struct fxt_map by_function = {0};
	size_t group_count = 0, place = 0;

	*all = (struct group){0};
	for (size_t i = 0; i < count; i++) {
		uint32_t caller = caller_of(paths, set[i].path);
		uint32_t name = caller == FXT_NO_PATH ? 0 : paths->list[caller].name;
		uint32_t module = caller == FXT_NO_PATH ? 0 : paths->list[caller].module;
		bool fresh;
		struct fxt_slot *s = fxt_map_put(&by_function, name, module, &fresh);

		if (fresh) {
			s->value[0] = group_count;
			groups[group_count++] = (struct group){.name = name, .module = module};
		}
		groups[s->value[0]].all += set[i].item.all;
		groups[s->value[0]].bad += set[i].item.bad;
		all->all += set[i].item.all;
		all->bad += set[i].item.bad;
	}
	for (size_t i = 1; i < group_count; i++)
		place = groups[i].bad > groups[place].bad ? i : place;
	*worst = groups[place];
	fxt_map_free(&by_function);
	free(groups);
	return group_count;
}

/* Keeps the items of one caller, which become those of his function. Returns how many they are. */
static size_t go_outwards(const struct fxt_call_paths *paths, struct walker *set, size_t count,
			  const struct group *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t caller = caller_of(paths, set[i].path);

		if (caller != FXT_NO_PATH && paths->list[caller].name == g->name &&
		    paths->list[caller].module == g->module) {
			set[kept] = set[i];
			set[kept++].path = caller;
		}
	}
	return kept;
}

/* Returns the node of the function that the items have in common, on the stack with most of what went
 * wrong. */
static uint32_t node_of(struct fxt_who *w, enum fxt_purpose purpose, const struct walker *set, size_t count)
{
	const struct walker *heaviest = set;
	uint32_t frame;

	for (size_t i = 1; i < count; i++)
		heaviest = set[i].item.bad > heaviest->item.bad ? &set[i] : heaviest;
	for (frame = heaviest->item.innermost; frame != FXT_NO_FRAME; frame = w->stacks.frames[frame].parent)
		if (!fxt_is_wrapper(&w->culprits, purpose, frame) &&
		    fxt_path_of(&w->culprits, purpose, frame) == heaviest->path)
			return frame;
	return heaviest->item.innermost;
}

/* Fills the set with the items of the same culprit. */
static size_t items_of(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost,
		       const struct fxt_contrast_item *items, size_t count, struct walker *set)
{
	const struct fxt_call_paths *paths = &w->culprits.paths[purpose];
	uint32_t path = fxt_path_of(&w->culprits, purpose, innermost), other;
	size_t kept = 0;

	for (size_t i = 0; path != FXT_NO_PATH && i < count; i++) {
		other = fxt_path_of(&w->culprits, purpose, items[i].innermost);
		if (other != FXT_NO_PATH && paths->list[other].name == paths->list[path].name &&
		    paths->list[other].module == paths->list[path].module)
			set[kept++] = (struct walker){items[i], other};
	}
	return kept;
}

bool fxt_contrast_find(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost,
		       enum fxt_contrast_by by, const struct fxt_contrast_item *items, size_t count,
		       struct fxt_contrast *found)
{
	const struct fxt_call_paths *paths = &w->culprits.paths[purpose];
	const double nearly_all = 0.9;
	struct walker *set = fxt_alloc(count + 1, sizeof(*set));
	struct group worst, all, others, first = {0};
	size_t callers;
	bool is_found = false;

	*found = (struct fxt_contrast){0};
	count = items_of(w, purpose, innermost, items, count, set);
	while (count) {
		callers = find_worst(paths, set, count, &worst, &all);
		if (!is_found)
			first = all;
		/* Whoever calls it, it goes wrong: also for others than the one caller that has most. */
		others = callers > 1 ? (struct group){.all = all.all - worst.all, .bad = all.bad - worst.bad}
				     : all;
		if ((by == FXT_BY_SHARE && others.bad >= others.all * nearly_all) || !worst.name)
			break;
		if (callers > 1 && !jumps(by, &worst, &all))
			break;
		count = go_outwards(paths, set, count, &worst);
		if (callers == 1)
			continue;
		is_found = true;
		found->frame = node_of(w, purpose, set, count);
		found->own = (struct fxt_contrast_item){found->frame, worst.all, worst.bad};
		found->others = (struct fxt_contrast_item){FXT_NO_FRAME, first.all - worst.all,
							   first.bad - worst.bad};
		found->callers += callers - 1;
	}
	free(set);
	if (is_found) {
		struct fxt_who_function helper;

		if (fxt_who_functions(w, purpose, innermost, false, &helper, 1)) {
			found->helper = fxt_strdup(helper.name);
			fxt_who_free_functions(&helper, 1);
		} else {
			found->helper = fxt_strdup("a helper");
		}
	}
	return is_found;
}
