/* This tests how the modules on a stack are known again (agent/stacks/code_module.h), the loader's numbers of
 * loads (load_number.h), and what is kept of an address (code.h). The loader, the modules' memory and their
 * rules are made up: libraries come and go at a few places, with the same path or build id as before or
 * others, and are cut off. What is found is compared with a model. FXT_SEED names the choices. */
#include <check.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/base/loaded.h"
#include "agent/stacks/code.h"
#include "agent/stacks/load_number.h"
#include "apps/random.h"
#include "suite.h"

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

enum {
	PAGE = 4096,
	PLACES = 12,                    /* where modules lie */
	PAGES = 4,                      /* of each place */
	KINDS = 3,                      /* of files, for each path */
	BEGUN_WITH = 6,                 /* the first of the loader's objects stay for good */
	ENTRY_BYTES = 2048,             /* of the loader's entry of an object */
	STEPS = 10000,
	PATH_MOST_KEPT = 1023,
};

/* -- A made up loader ------------------------------------------------------------------------------ */

/* The loader's entry of an object, and what it does not show of it. */
struct object {
	union {
		struct link_map map;
		uint64_t words[ENTRY_BYTES / sizeof(uint64_t)];
	};
};

static struct module {
	struct object *object;
	char *low, *high;
	char path[1100];
	uint64_t load;
	/* What it has; 0 and "none": nothing. */
	unsigned build_id_bytes;
	uint8_t build_id[64];
	uint64_t inside;                /* tells files without a build id apart */
	bool has_tables;
	bool is_there;
} world[PLACES];

static char *memory;
static size_t load_place;               /* where an entry has the number of its load */
static uint64_t loads;
static struct link_map *first_object;
static struct fxt_unwind_tables given;  /* what fxt_unwind_rule() is to be asked with */
static uintptr_t rule_address;
static struct fxt_unwind_rule rule;
static enum fxt_unwind_found rule_found;
static unsigned rules_asked;

static char *eh_frame;                  /* where the loader says that unwind tables are */

const struct link_map *fxt_loaded_first(void)
{
	return first_object;
}

int _dl_find_object(void *address, struct dl_find_object *found)
{
	unsigned i;

	for (i = 0; i < PLACES; i++)
		if (world[i].is_there && (char *)address >= world[i].low && (char *)address < world[i].high) {
			*found = (struct dl_find_object){.dlfo_map_start = world[i].low,
				.dlfo_map_end = world[i].high, .dlfo_link_map = &world[i].object->map,
				.dlfo_eh_frame = eh_frame};
			return 0;
		}
	return -1;
}

/* The made up tables of a module lie at its first byte but some. */
bool fxt_unwind_find(const Elf64_Phdr *segments, size_t count, uintptr_t bias,
		     struct fxt_unwind_tables *tables)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME) {
			*tables = (struct fxt_unwind_tables){
				.header = (const uint8_t *)bias + segments[i].p_vaddr,
				.low = (const uint8_t *)bias,
				.high = (const uint8_t *)bias + segments[i].p_vaddr + segments[i].p_memsz};
			return true;
		}
	return false;
}

enum fxt_unwind_found fxt_unwind_rule(struct fxt_unwind_tables *tables, uintptr_t address,
				      struct fxt_unwind_rule *out)
{
	given = *tables;
	rule_address = address;
	rules_asked++;
	if (rule_found == FXT_UNWIND_RULE)
		*out = rule;
	return rule_found;
}

/* Makes the loader's entry of one more object, which has the number of its load. */
static struct object *new_object(uint64_t load)
{
	struct object *object = calloc(1, sizeof(*object)), *last = (struct object *)first_object;
	size_t i;

	/* Nothing else there looks like such a number. */
	for (i = sizeof(struct link_map) / 8; i < ENTRY_BYTES / 8; i++)
		object->words[i] = 1000 + random_number(50);
	object->words[load_place / 8] = load;
	object->map.l_name = (char *)(uintptr_t) "";
	object->map.l_next = NULL;
	if (!last)
		first_object = &object->map;
	else {
		while (last->map.l_next)
			last = (struct object *)last->map.l_next;
		last->map.l_next = &object->map;
	}
	return object;
}

/* -- Made up files --------------------------------------------------------------------------------- */

enum { TABLE_AT = 2 * PAGE, NOTE_AT = 0x200 };

/* Puts the file into the module's memory: a header, segments, perhaps a note with a build id, and the first
 * words of its tables. */
static void lay_file(struct module *m)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)m->low;
	Elf64_Phdr *segments = (Elf64_Phdr *)(m->low + sizeof(*header));
	char *note = m->low + NOTE_AT;
	Elf64_Nhdr other = {.n_namesz = 5, .n_descsz = 6, .n_type = NT_GNU_BUILD_ID},
		   id = {.n_namesz = 4, .n_descsz = m->build_id_bytes, .n_type = NT_GNU_BUILD_ID};
	size_t at = 0;
	int count = 0;

	ck_assert_int_eq(mprotect(m->low, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
	memset(m->low, 0, PAGES * PAGE);
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_phentsize = sizeof(*segments);
	header->e_phoff = sizeof(*header);
	segments[count++] = (Elf64_Phdr){.p_type = PT_LOAD, .p_memsz = PAGES * PAGE};
	if (m->build_id_bytes) {
		/* Notes of others come first: one of another name, one of another type. */
		if (m->inside % 2) {
			memcpy(note, &other, sizeof(other));
			memcpy(note + sizeof(other), "Other\0\0\0abcdef", 14);
			at = sizeof(other) + 16;
		}
		if (m->inside % 3) {
			other = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 7, .n_type = NT_GNU_ABI_TAG};
			memcpy(note + at, &other, sizeof(other));
			memcpy(note + at + sizeof(other), "GNU\0abcdefg", 11);
			at += sizeof(other) + 12;
		}
		memcpy(note + at, &id, sizeof(id));
		memcpy(note + at + sizeof(id), "GNU", 4);
		memcpy(note + at + sizeof(id) + 4, m->build_id, m->build_id_bytes);
		at += sizeof(id) + 4 + (m->build_id_bytes + 3) / 4 * 4;
		segments[count++] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = NOTE_AT, .p_filesz = at,
						 .p_memsz = at};
	}
	if (m->has_tables)
		segments[count++] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME, .p_vaddr = TABLE_AT,
						 .p_filesz = 16, .p_memsz = 1 + m->inside % PAGE};
	header->e_phnum = (Elf64_Half)count;
	/* Two files may differ in one of these alone. */
	if (m->inside & 4)
		header->e_shoff = m->inside;
	else if (m->has_tables)
		m->low[TABLE_AT + m->inside % (1 + m->inside % PAGE) % 1024] = (char)(1 + m->inside % 99);
	else
		segments[0].p_memsz += m->inside;
}

/* Loads a file of this path and kind at this place. It is the same file each time. */
static void load(unsigned place, unsigned path, unsigned kind)
{
	struct module *m = &world[place];
	uint64_t state = random_state_of(1000 + path * KINDS + kind);
	unsigned i;

	m->build_id_bytes = random_of(&state) % 3 ? 1 + (unsigned)(random_of(&state) % FXT_BUILD_ID_MOST) : 0;
	/* Too long a build id is none. */
	if (random_of(&state) % 16 == 0)
		m->build_id_bytes = FXT_BUILD_ID_MOST + 1;
	for (i = 0; i < m->build_id_bytes; i++)
		m->build_id[i] = (uint8_t)random_of(&state);
	m->inside = random_of(&state) >> 20;
	m->has_tables = random_of(&state) % 4 != 0;
	/* Some paths differ behind what is kept of them, which makes them one path. */
	memset(m->path, 'p', PATH_MOST_KEPT);
	sprintf(m->path + (path % 3 ? 5 : PATH_MOST_KEPT - 2), "/lib%u.so", path);
	lay_file(m);
	m->load = ++loads;
	m->object->words[load_place / 8] = m->load;
	m->object->map.l_addr = (uintptr_t)m->low;
	m->object->map.l_name = m->path;
	m->is_there = true;
}

static void begin(void)
{
	unsigned i;

	random_seed(0);
	/* The first eight bytes may be part of the public structure. */
	load_place = (sizeof(struct link_map) + 7) / 8 * 8 + 8 * random_below(150);
	new_object(0);
	new_object(0);
	for (i = 2; i < BEGUN_WITH; i++)
		new_object(++loads);
	fxt_load_numbers_start();
	memory = mmap(NULL, PLACES * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	for (i = 0; i < PLACES; i++) {
		world[i].low = memory + i * PAGES * PAGE;
		world[i].high = world[i].low + PAGES * PAGE - 100;
		world[i].object = new_object(0);
	}
}

/* -- Numbers of loads ------------------------------------------------------------------------------ */

START_TEST(numbers_of_loads)
{
	struct object *object;
	struct link_map *map;
	unsigned objects, i, latest = 0, own, outliers;
	bool is_odd = false, has_other = false, is_known;
	size_t other = 0;

	random_seed((uint64_t)_i + 1);
	objects = 1 + (unsigned)random_below(20);
	first_object = NULL;
	load_place = (sizeof(struct link_map) + 7) / 8 * 8;
	load_place += 8 * random_below((1536 - load_place) / 8);
	own = random_below(3) ? (unsigned)random_below(objects + 1) : 1;
	for (i = 0; i < objects; i++) {
		unsigned number = i ? latest + 1 + (unsigned)random_below(i > 12 ? 1 : 2) : 0;

		/* The loader itself has none. */
		if (i && i == own)
			number = 0;
		object = new_object(number);
		if (number)
			latest = number;
	}
	if (objects > 4 && _i % 3 == 1) {
		/* Nothing is known if another place looks the same, */
		has_other = true;
		do
			other = (sizeof(struct link_map) + 7) / 8 * 8 + 8 * random_below(100);
		while (other == load_place);
		for (map = first_object; map; map = map->l_next)
			((struct object *)map)->words[other / 8] =
				((struct object *)map)->words[load_place / 8];
	} else if (objects > 2 && _i % 3 == 2) {
		/* or if no place does. */
		is_odd = true;
		map = first_object;
		switch (random_below(4)) {
		case 0:
			((struct object *)map)->words[load_place / 8] = 1;
			break;
		case 1:
			for (; map->l_next; map = map->l_next)
				;
			((struct object *)map)->words[load_place / 8] = 33;
			/* So many are looked at. */
			is_odd = objects <= 16;
			break;
		case 2:
			/* Two have the same number, and it is not 0. */
			((struct object *)map->l_next)->words[load_place / 8] = 1;
			((struct object *)map->l_next->l_next)->words[load_place / 8] = 1;
			break;
		default:
			/* Two have none. */
			((struct object *)map->l_next)->words[load_place / 8] = 0;
			((struct object *)map->l_next->l_next)->words[load_place / 8] = 0;
		}
	}
	fxt_load_numbers_start();
	/* What is loaded later does not count. */
	object = new_object(random_below(2) ? latest + 1 : 1);
	outliers = own && own < objects && own < 16;
	is_known = !has_other && !is_odd && objects >= 4 + outliers;
	for (map = first_object; map; map = map->l_next) {
		ck_assert_uint_eq(fxt_load_number(map),
				  is_known ? ((struct object *)map)->words[load_place / 8] : 0);
		ck_assert_int_eq(fxt_load_is_lasting(map), map != &object->map);
	}
}
END_TEST

/* An entry may lie at the end of what can be read. */
START_TEST(entry_at_the_end)
{
	struct object *last;
	char *pages;
	uint64_t bytes;

	random_seed((uint64_t)_i + 1);
	first_object = NULL;
	bytes = 8 * (sizeof(struct link_map) / 8 + 1 + random_below(100));
	load_place = (sizeof(struct link_map) + 7) / 8 * 8 + 8 * random_below(100);
	/* The number is often the last one that can be read, or the one behind. */
	if (bytes >= sizeof(struct link_map) + 8 && random_below(2))
		load_place = bytes - 8 * random_below(2);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(munmap(pages + PAGE, PAGE), 0);
	new_object(0);
	new_object(1);
	new_object(2);
	last = (struct object *)(pages + PAGE - bytes);
	last->map.l_name = (char *)(uintptr_t) "";
	memset((char *)last + sizeof(struct link_map), 0x55, bytes - sizeof(struct link_map));
	if (load_place + 8 <= bytes)
		*(uint64_t *)((char *)last + load_place) = 3;
	((struct link_map *)first_object)->l_next->l_next->l_next = &last->map;
	fxt_load_numbers_start();
	ck_assert_uint_eq(fxt_load_number(&last->map), load_place + 8 <= bytes ? 3 : 0);
	ck_assert_uint_eq(fxt_load_number(first_object->l_next), load_place + 8 <= bytes ? 1 : 0);
}
END_TEST

/* -- Modules --------------------------------------------------------------------------------------- */

/* The model: what was met, in the order of the numbers. */
struct known {
	char path[PATH_MOST_KEPT + 1];
	char *low, *high;
	unsigned build_id_bytes;
	uint8_t build_id[FXT_BUILD_ID_MOST];
	uint64_t inside, load;
	bool has_tables;
};

static struct known known[PLACES * 10 * KINDS + 1];
static unsigned known_count;

static bool has_build_id(unsigned bytes)
{
	return bytes && bytes <= FXT_BUILD_ID_MOST;
}

/* Returns the number that the module at this place has to have. */
static unsigned number_of(const struct module *m)
{
	struct known *k;
	unsigned i;

	for (i = known_count; i-- > 0;) {
		k = &known[i];
		if (k->low != m->low || k->high != m->high)
			continue;
		if (k->load == m->load)
			return i + 1;
		if (strncmp(k->path, m->path, PATH_MOST_KEPT) || k->build_id_bytes != m->build_id_bytes)
			continue;
		if (has_build_id(k->build_id_bytes) ? memcmp(k->build_id, m->build_id, k->build_id_bytes)
						    : k->inside != m->inside)
			continue;
		k->load = m->load;
		return i + 1;
	}
	k = &known[known_count++];
	*k = (struct known){.low = m->low, .high = m->high, .build_id_bytes = m->build_id_bytes,
			    .inside = m->inside, .load = m->load, .has_tables = m->has_tables};
	memcpy(k->path, m->path, strnlen(m->path, PATH_MOST_KEPT));
	memcpy(k->build_id, m->build_id,
	       has_build_id(m->build_id_bytes) ? m->build_id_bytes : 0);
	return known_count;
}

static void look_at(unsigned number, const struct known *k)
{
	const struct fxt_code_module *module = fxt_code_module(number);
	struct fxt_unwind_tables tables;

	ck_assert_uint_eq(module->low, (uintptr_t)k->low);
	ck_assert_uint_eq(module->high, (uintptr_t)k->high);
	ck_assert_uint_eq(module->bias, (uintptr_t)k->low);
	ck_assert_str_eq(module->path, k->path);
	ck_assert_uint_eq(module->path_bytes, strlen(k->path));
	ck_assert_uint_eq(module->build_id_bytes, has_build_id(k->build_id_bytes) ? k->build_id_bytes : 0);
	ck_assert_mem_eq(module->build_id, k->build_id, module->build_id_bytes);
	ck_assert(!module->is_lasting);
	ck_assert_int_eq(fxt_code_module_tables(number, 0, &tables), k->has_tables);
	if (!k->has_tables)
		return;
	ck_assert_ptr_eq(tables.header, k->low + TABLE_AT);
	ck_assert_ptr_eq(tables.low, k->low);
	ck_assert_ptr_eq(tables.high, k->low + TABLE_AT + 1 + k->inside % PAGE);
}

/* Modules come and go. Each has one number, whenever it is met, and no other has that. */
START_TEST(modules)
{
	struct fxt_code_latest latest;
	struct module *m;
	unsigned step, place, number;
	uintptr_t at;

	begin();
	for (step = 0; step < STEPS; step++) {
		place = (unsigned)random_below(PLACES);
		m = &world[place];
		if (random_below(3) == 0) {
			/* A few paths and kinds, so that files come again at the same place. */
			if (random_below(4))
				load(place, (unsigned)random_below(4), (unsigned)random_below(KINDS));
			else
				m->is_there = false;
		}
		/* Somebody cuts the file off: it is the same one as long as it has the same entry. */
		at = (uintptr_t)m->low + random_below(PAGES * PAGE);
		latest = (struct fxt_code_latest){0};
		number = fxt_code_module_of(at, &latest);
		if (!m->is_there || at >= (uintptr_t)m->high) {
			ck_assert_uint_eq(number, 0);
			ck_assert_uint_eq(latest.high, 0);
			continue;
		}
		ck_assert_uint_eq(number, number_of(m));
		look_at(number, &known[number - 1]);
		/* Who walks asks once for each module. */
		m->is_there = false;
		ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->high - 1, &latest), number);
		ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), number);
		m->is_there = true;
	}
	ck_assert_uint_gt(known_count, PLACES * 4);
}
END_TEST

/* A file that was cut off is told by its entry alone. */
START_TEST(cut_off)
{
	struct fxt_code_latest latest = {0};
	unsigned path = (unsigned)_i / KINDS, kind = (unsigned)_i % KINDS, number;
	struct module *m = &world[0];
	struct object *other;

	begin();
	load(0, path, kind);
	number = fxt_code_module_of((uintptr_t)m->low, &latest);
	ck_assert_uint_eq(number, 1);
	ck_assert_int_eq(mprotect(m->low, PAGES * PAGE, PROT_NONE), 0);
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), 1);
	/* It was loaded again, and has no contents. */
	m->object->words[load_place / 8] = ++loads;
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), 1);
	other = new_object(++loads);
	other->map.l_addr = m->object->map.l_addr;
	other->map.l_name = m->object->map.l_name;
	m->object = other;
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), 2);
	/* Of one whose contents could not be read from the beginning nothing is known. */
	ck_assert_uint_eq(fxt_code_module(2)->build_id_bytes, 0);
	ck_assert_ptr_null(fxt_code_module(2)->table_header);
}
END_TEST

/* What the program began with is not looked at again. */
START_TEST(lasting)
{
	struct fxt_code_latest latest = {0};
	unsigned before;
	struct module *m = &world[3];
	uint64_t word;

	begin();
	m->object = (struct object *)first_object->l_next->l_next;
	load(3, 1, 1);
	rule_found = FXT_UNWIND_OUTERMOST;
	word = fxt_code_word((uintptr_t)m->low + 50, &latest);
	ck_assert_uint_eq(word, (m->has_tables ? FXT_UNWIND_OUTERMOST : FXT_UNWIND_NONE) |
					FXT_CODE_IS_LASTING | 1 << FXT_CODE_MODULE_SHIFT);
	ck_assert(fxt_code_module(1)->is_lasting);
	ck_assert_uint_eq(fxt_code_module(1)->load, 0);
	/* Another file is not looked for: nobody can unload it. */
	load(3, 2, 2);
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), 1);
	m->is_there = false;
	before = rules_asked;
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_word((uintptr_t)m->low + 50, &latest), word);
	ck_assert_uint_eq(rules_asked, before);
}
END_TEST

/* Headers that are none are not believed. */
START_TEST(headers)
{
	struct module *m = &world[5];
	Elf64_Ehdr *header;
	const Elf64_Phdr *segments;
	size_t count = 77, good, i;
	const Elf64_Phdr *own = (const Elf64_Phdr *)getauxval(AT_PHDR), *tables = own;
	char nothing[] = "", *path;

	begin();
	while (tables->p_type != PT_GNU_EH_FRAME)
		tables++;
	load(5, 1, 0);
	path = m->object->map.l_name;
	header = (Elf64_Ehdr *)m->low;
	good = header->e_phnum;
	m->object->map.l_ld = (void *)(m->low + PAGE);
	segments = fxt_code_segments(&m->object->map, &count);
	ck_assert_ptr_eq(segments, m->low + sizeof(*header));
	ck_assert_uint_eq(count, good);
	/* Without the loader's help the headers are looked for at the object's address. */
	m->is_there = false;
	count = 77;
	ck_assert_ptr_eq(fxt_code_segments(&m->object->map, &count), m->low + sizeof(*header));
	ck_assert_uint_eq(count, good);
	/* They may end with the first page, and not behind it. */
	header->e_phnum = (PAGE - sizeof(*header)) / sizeof(Elf64_Phdr);
	ck_assert_ptr_nonnull(fxt_code_segments(&m->object->map, &count));
	ck_assert_uint_eq(count, header->e_phnum);
	header->e_phnum++;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_phnum = (Elf64_Half)good;
	header->e_phoff = PAGE - good * sizeof(Elf64_Phdr);
	ck_assert_ptr_nonnull(fxt_code_segments(&m->object->map, &count));
	header->e_phoff += 8;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_phoff = PAGE + 8;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_phoff = sizeof(*header) + 4;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_phoff = sizeof(*header);
	header->e_phentsize++;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_phentsize--;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[_i % SELFMAG]++;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	header->e_ident[_i % SELFMAG]--;
	ck_assert_ptr_nonnull(fxt_code_segments(&m->object->map, &count));
	mprotect(m->low, PAGE, PROT_NONE);
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	m->is_there = true;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	/* Those of the program are where the kernel says, if the loader means the same unwind tables. */
	m->object->map.l_name = nothing;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	for (i = 0; i < getauxval(AT_PHNUM); i++) {
		bool is_it = own[i].p_type == PT_GNU_EH_FRAME;

		eh_frame = (char *)m->object->map.l_addr + own[i].p_vaddr;
		/* Two segments may begin at one place. */
		if (!is_it && own[i].p_vaddr == tables->p_vaddr)
			continue;
		ck_assert_ptr_eq(fxt_code_segments(&m->object->map, &count), is_it ? own : NULL);
		ck_assert(!is_it || count == getauxval(AT_PHNUM));
	}
	eh_frame = (char *)m->object->map.l_addr + tables->p_vaddr;
	m->object->map.l_name = path;
	ck_assert_ptr_null(fxt_code_segments(&m->object->map, &count));
	eh_frame = NULL;
}
END_TEST

/* -- What is kept of an address -------------------------------------------------------------------- */

/* The rule of an address is found once for each module that lies there, and is what the tables say. */
START_TEST(rules)
{
	enum { ADDRESSES = 40 };
	struct memo {
		struct fxt_code code;
		bool is_known;
	} *memos = calloc(PLACES * 10 * KINDS * ADDRESSES, sizeof(*memos));
	struct fxt_code_latest latest;
	unsigned step, place, number, which;
	uintptr_t at;

	begin();
	for (step = 0; step < STEPS; step++) {
		struct module *m;
		struct fxt_code code;
		struct memo *memo;

		place = (unsigned)random_below(PLACES);
		m = &world[place];
		which = (unsigned)random_below(ADDRESSES);
		at = (uintptr_t)m->low + 1 + which * 401;
		if (random_below(8) == 0)
			load(place, (unsigned)random_below(4), (unsigned)random_below(KINDS));
		if (!m->is_there || at > (uintptr_t)m->high)
			continue;
		rule_found = (enum fxt_unwind_found)random_below(3);
		rule = (struct fxt_unwind_rule){
			.caller_sp = (int32_t)(random_below(1 << 20) - (1 << 19)) * 8,
			.saved_fp = random_below(3) ? (int32_t)(random_below(1 << 20) - (1 << 19)) * 8 : -16,
			.is_from_fp = random_below(2), .is_aligned = random_below(2)};
		latest = (struct fxt_code_latest){0};
		rules_asked = 0;
		code = fxt_code_at(at, &latest);
		number = number_of(m);
		memo = &memos[(number * ADDRESSES + which)];
		ck_assert_uint_eq(code.module, number);
		ck_assert_uint_eq(rules_asked, !memo->is_known && m->has_tables);
		if (!memo->is_known) {
			memo->is_known = true;
			memo->code = (struct fxt_code){.module = (uint16_t)number};
			if (m->has_tables) {
				/* A call returns behind it. */
				ck_assert_uint_eq(rule_address, at - 1);
				ck_assert_ptr_eq(given.header, m->low + TABLE_AT);
				memo->code.how = (uint8_t)rule_found;
				if (rule_found == FXT_UNWIND_RULE)
					memo->code.rule = rule;
			}
		}
		ck_assert_uint_eq(code.how, memo->code.how);
		ck_assert_int_eq(code.rule.caller_sp, memo->code.rule.caller_sp);
		ck_assert_int_eq(code.rule.saved_fp, memo->code.rule.saved_fp);
		ck_assert_int_eq(code.rule.is_from_fp, memo->code.rule.is_from_fp);
		ck_assert_int_eq(code.rule.is_aligned, memo->code.rule.is_aligned);
	}
	ck_assert_uint_eq(fxt_code_at((uintptr_t)1 << 48, &latest).how, FXT_UNWIND_NONE);
	free(memos);
}
END_TEST

/* There are more addresses than the table has entries. All of them are right, and the first are kept. */
START_TEST(more_than_there_is_room_for)
{
	enum { ENTRIES = 1 << 16, MORE = 100 };
	struct fxt_code_latest latest = {0};
	uintptr_t at, low = (uintptr_t)1 << 40;
	unsigned i;

	begin();
	world[0].low = (char *)low;
	world[0].high = (char *)low + 8 * ENTRIES;
	world[0].object->map.l_addr = (uintptr_t)memory;
	world[0].is_there = true;
	rule_found = FXT_UNWIND_NONE;
	for (i = 0; i < 2 * (ENTRIES + MORE); i++) {
		at = low + 1 + i % (ENTRIES + MORE);
		ck_assert_uint_eq(fxt_code_at(at, &latest).module, 1);
	}
	/* Code in no module is known too. */
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_at(12345, &latest).module, 0);
}
END_TEST

/* There are more modules than there are numbers, or more paths than there is room for. */
START_TEST(more_modules)
{
	const bool is_long = _i;
	unsigned most = is_long ? (4 << 20) / 1024 : FXT_CODE_MODULES, i, number = 0;
	struct fxt_code_latest latest;
	struct module *m = &world[7];
	struct fxt_unwind_tables tables;

	begin();
	m->object->map.l_name = m->path;
	memset(m->path, 'x', is_long ? sizeof(m->path) - 1 : 3);
	m->is_there = true;
	for (i = 0; i < most + 3; i++) {
		/* Nothing can be read of it. */
		m->low = (char *)((uintptr_t)1 << 40) + (uintptr_t)i * PAGE;
		m->high = m->low + PAGE;
		latest = (struct fxt_code_latest){0};
		number = fxt_code_module_of((uintptr_t)m->low, &latest);
		ck_assert_uint_eq(number, i < most ? i + 1 : FXT_CODE_NO_ROOM);
		if (i < most && is_long)
			ck_assert_uint_eq(fxt_code_module(number)->path_bytes, PATH_MOST_KEPT);
	}
	m = &world[8];
	load(8, 1, 0);
	m->has_tables = true;
	lay_file(m);
	latest = (struct fxt_code_latest){0};
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)m->low, &latest), FXT_CODE_NO_ROOM);
	/* Its tables can be had all the same, and nothing is kept of its code. */
	ck_assert(fxt_code_module_tables(number, (uintptr_t)m->low, &tables));
	ck_assert_ptr_eq(tables.header, m->low + TABLE_AT);
	ck_assert(!fxt_code_module_tables(number, 1, &tables));
	rule_found = FXT_UNWIND_OUTERMOST;
	for (i = 1; i < 4; i++) {
		latest = (struct fxt_code_latest){0};
		ck_assert_uint_eq(fxt_code_at((uintptr_t)m->low + 1, &latest).how, FXT_UNWIND_OUTERMOST);
		ck_assert_uint_eq(rules_asked, i);
	}
	/* Those that are known still are. */
	latest = (struct fxt_code_latest){0};
	world[7].low = (char *)((uintptr_t)1 << 40);
	world[7].high = world[7].low + PAGE;
	ck_assert_uint_eq(fxt_code_module_of((uintptr_t)1 << 40, &latest), 1);
}
END_TEST

/* This library's own module is the one that has this function. */
START_TEST(own_module)
{
	begin();
	ck_assert_uint_eq(fxt_code_own(), 0);
}
END_TEST

START_TEST(own_module_is_found_once)
{
	begin();
	world[2].low = (char *)((uintptr_t)fxt_code_own & ~(uintptr_t)(PAGE - 1));
	world[2].high = world[2].low + 2 * PAGE;
	world[2].is_there = true;
	ck_assert_uint_eq(fxt_code_own(), 1);
	world[2].is_there = false;
	ck_assert_uint_eq(fxt_code_own(), 1);
}
END_TEST

int main(void)
{
	TCase *numbers = tcase_create("numbers"), *all = tcase_create("modules"),
	      *room = tcase_create("room");

	random_seed(0);
	tcase_add_loop_test(numbers, numbers_of_loads, 0, 40);
	tcase_add_loop_test(numbers, entry_at_the_end, 0, 20);
	tcase_set_timeout(all, 60);
	tcase_add_test(all, modules);
	tcase_add_loop_test(all, cut_off, 0, 6);
	tcase_add_test(all, lasting);
	tcase_add_loop_test(all, headers, 0, 4);
	tcase_add_test(all, rules);
	tcase_add_test(all, own_module);
	tcase_add_test(all, own_module_is_found_once);
	tcase_set_timeout(room, 60);
	tcase_add_test(room, more_than_there_is_room_for);
	tcase_add_loop_test(room, more_modules, 0, 2);
	return RUN_SUITE("modules", numbers, all, room);
}

#else

int main(void)
{
	return 77;
}

#endif
