#!/bin/bash
# fxt report --html and fxt view: a page has what the trace has, and nothing that a trace says becomes markup
# or script. page.py makes traces at random and compares; FXT_ROUNDS is how many. page_drawn.sh looks at pages
# in a browser.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

page()
{
	python3 "$abs_top_srcdir/tests/e2e/page.py" "$FXT" "$@" >told 2>&1 || fail "page.py $*: $(cat told)"
	count comparison
}

page "$FXT_SEED" "${FXT_ROUNDS:-4}"

# Recorded ones, against fxt dump and fxt report.
"$FXT" record -q -c '#default,malloc' -o chain.fxt -- "$apps/chain" 20 >out 2>&1 || fail "chain"
"$FXT" record -q -c '#default,malloc' -o threads.fxt -- "$apps/threads" running >out 2>&1
"$FXT" record -q -o processes.fxt -- bash -c 'for i in 1 2; do ls / | sort; done' >out || fail "bash"
page --real chain.fxt threads.fxt processes.fxt

# A page that cannot be written, or would take the trace's place, is told; so are options without sense.
cp chain.fxt kept.fxt
"$FXT" report --html chain.fxt chain.fxt 2>err && fail "the page took the place of the trace"
grep -q "would take its place" err || fail "no word of that: $(cat err)"
cmp -s chain.fxt kept.fxt || fail "the trace has changed"
"$FXT" report --html /nowhere/page.html chain.fxt 2>err && fail "a page was written nowhere"
is "lines about it" 1 "$(wc -l <err)"
for refused in "--html= chain.fxt" "--slices=0 chain.fxt" "--slices=x chain.fxt" \
	"--html=- --json chain.fxt"; do
	# shellcheck disable=SC2086
	"$FXT" report $refused >out 2>err
	is "report $refused: exit status" 2 $?
	is "report $refused: output" "" "$(cat out)"
done
if test -c /dev/full; then
	"$FXT" report --html - chain.fxt >/dev/full 2>err && fail "a full disk looks like a page"
fi
"$FXT" report --html - chain.fxt >page.html || fail "a page to standard output"
"$FXT" report --html other.html chain.fxt || fail "a page to a file"
is "a page to standard output" "$(cksum <other.html)" "$(cksum <page.html)"

# Stacks on standard output leave the page as it is. There are some, as nearly all
# blocks are drawn.
FXT_HEAP_SAMPLE_BYTES=16 "$FXT" record -q -c '#default,malloc' -o stacks.fxt -- "$apps/chain" 20 >out 2>&1
"$FXT" report --html alone.html stacks.fxt || fail "a page of stacks.fxt"
"$FXT" report --folded=allocated:- --html beside.html stacks.fxt >folded 2>err ||
	fail "stacks and a page: $(cat err)"
test -s folded || fail "there are no stacks beside a page"
is "a page beside stacks" "$(cksum <alone.html)" "$(cksum <beside.html)"

# fxt view makes a page that only its user reads, says where, and has the desktop open it where there is one.
mkdir bin pages
# shellcheck disable=SC2016
printf '#!/bin/sh\nprintf "%%s" "$1" >%s/opened\n' "$PWD" >bin/xdg-open
chmod +x bin/xdg-open
cp chain.fxt ./-x.fxt
for display in "" :7; do
	rm -f opened
	where=$(PATH=$PWD/bin:$PATH TMPDIR=$PWD/pages DISPLAY=$display WAYLAND_DISPLAY='' \
		"$FXT" view -- -x.fxt) || fail "view"
	is "the folder of the page" 700 "$(stat -c %a "$(dirname "$where")")"
	is "the name of the page" ./-x.fxt.html "./$(basename "$where")"
	is "what was opened" "${display:+$where}" "$(cat opened 2>/dev/null)"
	grep -q 'id="head"' "$where" || fail "there is no page at $where"
done
TMPDIR=$PWD/nowhere "$FXT" view chain.fxt >out 2>err && fail "view found a place"
is "view without a place" "" "$(cat out)"

# fxt view --perfetto: to that page alone, once.
python3 - "$FXT" chain.fxt <<'EOF' >told 2>&1 || fail "view --perfetto: $(cat told)"
import http.client, os, re, subprocess, sys

fxt, trace = sys.argv[1:]
page, data = "https://ui.perfetto.dev", open(trace, "rb").read()
environment = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""}
p = subprocess.Popen([fxt, "view", "--perfetto", "--port=0", trace], stdout=subprocess.PIPE, env=environment)
address = p.stdout.readline().decode().strip()
found = re.fullmatch(page + r"/#!/\?url=http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/trace\.fxt)", address)
assert found, address
port, path = int(found[1]), found[2]


def ask(method, path, **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request(method, path, headers={key.replace("_", "-"): value for key, value in headers.items()})
    answer = c.getresponse()
    return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()


for method, where, headers, status in (
        ("GET", "/", {}, 404), ("GET", path[:-1], {}, 404), ("GET", path + "x", {}, 404),
        ("GET", "/" + "0" * 32 + "/trace.fxt", {"Origin": page}, 404),
        ("GET", path, {"Origin": "https://example.org"}, 403),
        ("GET", path, {"Origin": page + ".example.org"}, 403), ("GET", path, {"Origin": "null"}, 403),
        ("GET", path, {"Host": "example.org:%d" % port}, 403),
        ("GET", path, {"Host": "localhost:%d" % port, "Origin": page}, 403),
        ("POST", path, {"Origin": page}, 404), ("OPTIONS", path, {}, 404)):
    told, got, body = ask(method, where, **headers)
    assert told == status and not body, (method, where, headers, told)
    assert "access-control-allow-origin" not in got, (method, where, headers, got)
told, got, body = ask("OPTIONS", path, Origin=page, Access_Control_Request_Method="GET",
                      Access_Control_Request_Private_Network="true")
assert told == 204 and got["access-control-allow-origin"] == page, got
assert got["access-control-allow-private-network"] == "true", got
# One that says nothing of sense, and one that goes away in the middle, take nothing from the next.
import socket
for text in (b"\r\n\r\n", b"GET " + path.encode(), b"x" * 20000):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(text)
    s.close()
told, got, body = ask("GET", path, Origin=page)
assert told == 200 and body == data and got["access-control-allow-origin"] == page, got
assert p.wait(30) == 0
try:
    ask("GET", path, Origin=page)
except ConnectionRefusedError:
    sys.exit(0)
sys.exit("it was there to be fetched twice")
EOF
count comparison
