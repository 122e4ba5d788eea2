#!/bin/bash
# Stacks are true where code comes and goes: plug-ins that nobody sees being unloaded, as their host calls the
# C library's own dlclose(); files that are replaced; more loads than any table holds; code that a program
# makes at an address where a plug-in was; and code that was made by a compiler that uses the frame pointer
# for anything.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 readelf
command -v "${CC%% *}" >/dev/null 2>&1 || skip "there is no compiler"

cat >plugin.c <<'SOURCE'
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define APART __attribute__((noinline, noclone))
typedef void (*call_t)(void);
/* Other functions, or none, stand in front. */
APART int JOIN(front_, NUMBER)(int n);
APART int JOIN(front_, NUMBER)(int n)
{
	__asm__ volatile(".skip " SKIP ", 0x90");
	return n + NUMBER;
}
APART void JOIN(inner_, NUMBER)(call_t call);
APART void JOIN(inner_, NUMBER)(call_t call)
{
	volatile char room[ROOM];

	room[0] = 1;
	call();
	room[1] = room[0];
}
void plugin(call_t call);
void plugin(call_t call)
{
	JOIN(inner_, NUMBER)(call);
	__asm__ volatile("");
}
SOURCE

cat >host.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void host(const char *path, void (*call)(void), int stays);
void host(const char *path, void (*call)(void), int stays)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*plugin)(void (*)(void));

	if (!library) {
		fputs(dlerror(), stderr);
		exit(1);
	}
	plugin = (void (*)(void (*)(void)))dlsym(library, "plugin");
	plugin(call);
	if (!stays)
		dlclose(library);
}
SOURCE

# usage: loads HOW LOADS SEED HOST PLUGINS, where plug-ins are ./plugin_0.so and so on. `deep`: the host is
# loaded with RTLD_DEEPBIND; `seen`: it is not. `replaced`: they are all loaded as ./plugin_r.so. `forks`: a
# child goes on after a while. `made`: code that was made takes the place of plug-ins.
cat >loads.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static uintptr_t place;
static unsigned state;

static __attribute__((noinline)) void call(void)
{
	place = (uintptr_t)__builtin_return_address(0);
	kept = malloc(200000);
	free(kept);
}

static unsigned draw(unsigned below)
{
	state = state * 1103515245 + 12345;
	return (state >> 16) % below;
}

/* Makes code that calls and is gone on with at the place where the plug-in did, and calls it. */
static void make(void)
{
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	uintptr_t start = place - 6, page = start & -4096ul;
	void *there = mmap((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (there != (void *)page)
		return;
	memcpy((void *)start, code, sizeof(code));
	((void (*)(void (*)(void)))start)(call);
	puts("made main");
	munmap((void *)page, 8192);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int loads = atoi(argv[2]), plugins = atoi(argv[5]);
	void *library;
	void (*host)(const char *, void (*)(void), int);

	state = (unsigned)atoi(argv[3]);
	library = dlopen(argv[4], RTLD_NOW | (strcmp(how, "seen") ? RTLD_DEEPBIND : 0));
	host = (void (*)(const char *, void (*)(void), int))dlsym(library, "host");
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	for (int i = 0; i < loads; i++) {
		unsigned number = draw((unsigned)plugins), stays = !draw(40) && strcmp(how, "replaced");
		char path[64], file[64];

		snprintf(path, sizeof(path), "./plugin_%u.so", number);
		if (!strcmp(how, "replaced")) {
			strcpy(file, path);
			strcpy(path, "./plugin_r.so");
			unlink(path);
			if (link(file, path))
				return 1;
		}
		host(path, call, (int)stays);
		printf("plugin_%u plugin_%u host main\n", number, number);
		if (!strcmp(how, "made") && !stays)
			make();
		if (!strcmp(how, "forks") && i == loads / 2) {
			fflush(stdout);
			if (fork())
				return wait(NULL) < 0;
		}
	}
	return 0;
}
SOURCE

# found FILE...: prints for each block of the traces the modules of its callers from `call` outwards, up to
# main. A plug-in is told by its build id if `ids` has a line for that, otherwise by its file and the number
# in the names of its functions.
found()
{
	local file

	for file; do
		fxt merge -q -o named.fxt "$file"
		fxt dump --json named.fxt | python3 -c '
import json, re, sys
ids = dict(line.split() for line in open("ids"))
nodes, blocks = {}, []
for line in sys.stdin:
    r = json.loads(line)
    args = r.get("args", {})
    number = int(r.get("id") or "0", 0) if r["type"] == "object" else 0
    if number and args["type"] == "frame" and (r.get("name") or number not in nodes):
        nodes[number] = r.get("name", "?"), int(args.get("parent", "0"), 0), args
    elif r["type"] == "async-begin" and r["name"] == "heap block":
        blocks.append(int(args["stack"], 0))
def called(name, args):
    file = args.get("module", "").split("/")[-1]
    if args.get("build_id") in ids:
        return ids[args["build_id"]]
    if not file.startswith("plugin_"):
        return {"[code in no file]": "made"}.get(name, name)
    number = re.fullmatch("(inner_|plugin)([0-9]*)", name)
    return file[:-3] if number and number[2] in ("", file[7:-3]) else file + ":" + name
for node in blocks:
    names = []
    while node:
        name, node, args = nodes.get(node, ("missing", 0, {}))
        names.append(called(name, args))
    if "call" in names:
        names = names[names.index("call") + 1:]
        print(*(names[:names.index("main") + 1] if "main" in names else names))'
	done
}

$CC -O2 -shared -fPIC -w -o host.so host.c -ldl && $CC -O2 -w -o loads loads.c -ldl ||
	fail "it does not build"

# build IDS: makes plug-ins with the option for the linker, and prints how many. Most have their functions at
# the same addresses as another one.
build()
{
	local plugins=$((3 + $(random_below 6))) i

	rm -f plugin_*.so
	: >ids
	for ((i = 0; i < plugins; i++)); do
		$CC -O2 -shared -fPIC -w -Wl,--build-id="$1" -DNUMBER="$i" \
			-DROOM="$((16 << $(random_below 8)))" -DSKIP="\"$(($(random_below 3) * 64))\"" \
			-o "plugin_$i.so" plugin.c || fail "plugin $i"
	done
	echo "$plugins"
}

for round in "sha1 deep" "none deep" "sha1 seen" "sha1 forks" "none forks" "sha1 made" "none made" \
	"sha1 replaced"; do
	read -r ids how <<<"$round"
	test "$how" != made || test "$(uname -m)" = x86_64 || continue
	plugins=$(build "$ids")
	if test "$how" = replaced; then
		for ((i = 0; i < plugins; i++)); do
			echo "$(readelf -n "plugin_$i.so" | sed -n 's/.*Build ID: //p') plugin_$i"
		done >ids
	fi
	rm -rf trace
	FXT_CATEGORIES=malloc traced trace ./loads "$how" $((100 + $(random_below 200))) \
		"$(random_below 1000000)" ./host.so "$plugins" >said || fail "$round: exit status $?"
	valid trace/*.fxt
	found trace/*.fxt | sort >is
	sort said >expected
	same_some "$round" expected is
done

# More loads than any table of modules should need, at addresses of all kinds.
plugins=$(build sha1)
FXT_CATEGORIES=malloc traced many ./loads deep $((4500 + $(random_below 1000))) "$(random_below 1000000)" \
	./host.so "$plugins" >said || fail "many: exit status $?"
valid many/*.fxt
found many/*.fxt >is
same_some "many loads" said is

# -- Made code that has anything in the frame pointer --------------------------------------------------------

if "$apps/made_list" 1 >said; then
	FXT_CATEGORIES=malloc traced list "$apps/made_list" 60 >said || fail "made_list: exit status $?"
	valid list/*.fxt
	fxt merge -q -o list.fxt list/*.fxt
	fxt dump --json list.fxt | python3 -c '
import json, sys
nodes, blocks = {}, []
for line in sys.stdin:
    r = json.loads(line)
    args = r.get("args", {})
    number = int(r.get("id") or "0", 0) if r["type"] == "object" else 0
    if number and args["type"] == "frame" and (r.get("name") or number not in nodes):
        nodes[number] = r.get("name", "?"), int(args.get("parent", "0"), 0)
    elif r["type"] == "async-begin" and r["name"] == "heap block":
        blocks.append(int(args["stack"], 0))
said, cut = [line.split() for line in open("said")], 0
blocks = blocks[-len(said):]
for right, node in zip(said, blocks):
    names = []
    while node:
        name, node = nodes[node]
        names.append({"[code in no file]": "made"}.get(name, name))
    is_cut = names[-1] == "[further callers]"
    names = names[:-1] if is_cut else names[:len(right[1:])]
    # What uses the frame pointer as such is followed to the end.
    if names != right[1:][:len(names)] or not names or (right[0] == "frames" and is_cut):
        sys.exit(f"{right} has the stack {names}, cut: {is_cut}")
    cut += is_cut
if len(said) != len(blocks):
    sys.exit(f"{len(said)} blocks were expected")
print(len(said), "stacks,", cut, "cut")' || fail "made_list: a stack is not true"
	count comparison
else
	is "a machine for which no code is made" 77 $?
fi
