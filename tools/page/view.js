/* Draws the page. It reads the blocks that page.c has written (the layout is told there), and draws on one
 * canvas. Text of the trace goes to the canvas or into text nodes, and never into markup.
 *
 * Parts: numbers and texts; the blocks; the data; what is shown; drawing; what is selected; flame graphs;
 * hands on it (mouse, keys, search); the start.
 */
"use strict";

/* -- Numbers and texts ------------------------------------------------------------------------------ */

const byId = (id) => document.getElementById(id);

/* Makes an element with text or elements in it. */
function make(tag, ...inner) {
	const element = document.createElement(tag);
	element.append(...inner);
	return element;
}

function duration(ns) {
	const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
	for (const [size, unit] of units)
		if (Math.abs(ns) >= size)
			return (ns / size).toPrecision(4).replace(/\.?0+$/, "") + " " + unit;
	return Math.round(ns) + " ns";
}

function amount(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

function bytes(n) {
	const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	for (; Math.abs(n) >= 1024 && unit < units.length - 1; unit++)
		n /= 1024;
	return (unit ? n.toFixed(1) : amount(n)) + " " + units[unit];
}

function seconds(ns) {
	return (ns / 1e9).toFixed(9) + " s";
}

function short(text, most) {
	return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
}

/* Returns the first place from 0 to count where `is` holds; it holds for all behind it. */
function firstPlace(count, is) {
	let low = 0, high = count;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (is(middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* -- The blocks ------------------------------------------------------------------------------------- */

/* Unpacks a block of the page, and forgets its text. */
async function unpack(id) {
	const element = byId(id);
	const packed = atob(element.textContent);
	const all = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++)
		all[i] = packed.charCodeAt(i);
	element.remove();
	const stream = new Blob([all]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Reads a column of numbers, as columns.h says how they are written. */
class Column {
	constructor(all, at) {
		this.all = all;
		this.at = at;
	}

	unsigned() {
		let byte = this.all[this.at++];
		if (byte < 0x80)
			return byte;
		let value = byte & 0x7f, weight = 0x80;
		do {
			byte = this.all[this.at++];
			value += (byte & 0x7f) * weight;
			weight *= 0x80;
		} while (byte >= 0x80);
		return value;
	}

	signed() {
		const value = this.unsigned();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	/* The same for numbers of 64 bits, which only a BigInt holds. */
	wide() {
		let value = 0n, shift = 0n, byte;
		do {
			byte = this.all[this.at++];
			value |= BigInt(byte & 0x7f) << shift;
			shift += 7n;
		} while (byte >= 0x80);
		return value & 1n ? -(value + 1n >> 1n) : value >> 1n;
	}

	real() {
		const value = new DataView(this.all.buffer, this.all.byteOffset + this.at, 8).getFloat64(0, true);
		this.at += 8;
		return value;
	}
}

function columnsOf(all, sizes) {
	let at = 0;
	return sizes.map((size) => {
		const column = new Column(all, at);
		at += size;
		return column;
	});
}

/* -- The data --------------------------------------------------------------------------------------- */

let head;               /* the block of that name */
let tracks = [];        /* head.tracks; each has .rows and .momentRows, lists of lists of levels */
let arrows = null;      /* {from, to, fromTrack, toTrack, label}, once they are read */
let details = null;     /* the block, once somebody asked */
let isComplete = false; /* the block `rest` has been read */

/* A level of a row: slices, or runs of them (levels.h). */
function emptyLevel(width, count) {
	return {width, count, begin: null, end: null, label: null, extra: null, longest: null};
}

function readLevel(level, [begins, durations, names, extras]) {
	const n = level.count;
	const begin = new Float64Array(n), end = new Float64Array(n);
	const label = new Uint32Array(n), extra = new Uint32Array(n);
	const longest = level.width ? new Float64Array(n) : null;
	let at = 0;
	for (let i = 0; i < n; i++) {
		at += begins.unsigned();
		begin[i] = at;
		end[i] = at + durations.unsigned();
		label[i] = names.unsigned();
		extra[i] = extras.unsigned();
		if (longest)
			longest[i] = extra[i] ? extras.unsigned() : end[i] - at;
	}
	Object.assign(level, {begin, end, label, extra, longest});
}

function levelsOf(row) {
	const levels = [];
	for (let i = 0; i < row.length; i += 2)
		levels.push(emptyLevel(row[i], row[i + 1]));
	return levels;
}

function prepareTracks() {
	tracks = head.tracks;
	const processes = new Map(head.processes.map((process) => [process.koid, process]));
	tracks.forEach((track, place) => {
		track.place = place;
		track.process = processes.get(track.process) || null;
		track.rows = track.rows.map(levelsOf);
		track.momentRows = track.moments.map(levelsOf);
		track.at = track.values = null;
		if (track.process)
			track.process.end = track.process.end || 0;
	});
}

/* Goes through the levels in the order of the blocks. */
function eachRow(does) {
	for (const track of tracks)
		for (const row of [...track.rows, ...track.momentRows])
			does(row);
}

function readFirst(all) {
	const columns = columnsOf(all, head.first);
	eachRow((row) => readLevel(row[0], columns));
	/* A process lasts as long as its threads have something. */
	for (const track of tracks)
		if (track.kind === "thread")
			for (const [{end, count}] of [...track.rows, ...track.momentRows])
				track.process.end = Math.max(track.process.end, end[count - 1]);
}

function readPoints(track, column) {
	track.at = new Float64Array(track.points);
	track.values = new Float64Array(track.points);
	let at = 0, value = 0;
	for (let i = 0; i < track.points; i++) {
		at += column.unsigned();
		value = track.real ? column.real() : value + column.signed();
		track.at[i] = at;
		track.values[i] = value;
	}
	track.least = track.most = 0;
	for (const one of track.values) {
		track.least = Math.min(track.least, one);
		track.most = Math.max(track.most, one);
	}
}

function readArrows(column) {
	const n = head.arrows;
	const read = {count: n, from: new Float64Array(n), to: new Float64Array(n),
		fromTrack: new Uint32Array(n), toTrack: new Uint32Array(n), label: new Uint32Array(n)};
	let at = 0;
	for (let i = 0; i < n; i++) {
		at += column.unsigned();
		read.from[i] = at;
		read.to[i] = at + column.signed();
		read.fromTrack[i] = column.unsigned();
		read.toTrack[i] = column.unsigned();
		read.label[i] = column.unsigned();
	}
	return read;
}

function readRest(all) {
	const columns = columnsOf(all, head.rest);
	eachRow((row) => row.slice(1).forEach((level) => readLevel(level, columns)));
	for (const track of tracks)
		if (track.points)
			readPoints(track, columns[4]);
	arrows = readArrows(columns[5]);
	isComplete = true;
}

/* Returns the values of a node of the tree of arguments, as texts (details.h). */
function argumentValues(node) {
	const [, , type, at, size] = head.arguments[node];
	const column = new Column(details, at), values = [];
	let last = 0n;
	while (column.at < at + size) {
		switch (type) {
		case 1: case 2: case 3:
			last = BigInt.asUintN(64, last + column.wide());
			values.push(type === 1 ? BigInt.asIntN(64, last).toString()
				: type === 2 ? last.toString() : "0x" + last.toString(16));
			break;
		case 4: values.push(String(column.real())); break;
		case 5: values.push(head.texts[column.unsigned()]); break;
		case 6: values.push(column.unsigned() ? "true" : "false"); break;
		case 7: values.push(column.unsigned() - 1); break;
		case 8: values.push(head.objects[column.unsigned()]); break;
		}
	}
	return values;
}

/* Returns for each node whether it is this one or below it. */
function nodesBelow(node) {
	const below = new Uint8Array(head.arguments.length);
	below[node] = 1;
	head.arguments.forEach(([parent], i) => {
		if (i && below[parent])
			below[i] = 1;
	});
	return below;
}

/* Counts the slices with arguments below a node that were written before this one. */
function rankOf(track, row, index, below) {
	let rank = 0;
	for (const other of tracks) {
		for (const levels of [...other.rows, ...other.momentRows]) {
			const slices = levels[levels.length - 1];
			const isHere = other === track && levels === row;
			const count = isHere ? index : slices.count;
			for (let i = 0; i < count; i++)
				rank += below[slices.extra[i] >> 1];
			if (isHere)
				return rank;
		}
	}
	return rank;
}

const valuesOfNode = new Map();

/* Returns the arguments of a slice: [name, type, value]. */
function argumentsOf(track, row, index) {
	const slices = row[row.length - 1], list = [];
	for (let node = slices.extra[index] >> 1; node; node = head.arguments[node][0]) {
		const [, name, type] = head.arguments[node];
		if (!valuesOfNode.has(node))
			valuesOfNode.set(node, argumentValues(node));
		const values = valuesOfNode.get(node);
		list.unshift([head.texts[name], type, type ? values[rankOf(track, row, index, nodesBelow(node))] : ""]);
	}
	return list;
}

/* -- What is shown ---------------------------------------------------------------------------------- */

const canvas = byId("picture");
const ink = canvas.getContext("2d", {alpha: false});
const view = {
	from: 0, to: 1,         /* the time in the picture */
	top: 0,                 /* how far it is scrolled down */
	width: 0, height: 0,    /* of the canvas, in pixels of the page */
	gutter: 190,            /* the width of the labels */
	tab: 0,                 /* 0: the timeline; else a flame graph */
};
const ROW = 18, MOMENTS = 10, COUNTER = 38, TITLE = 20, RULER = 36;
let lanes = [], fullHeight = 0;
const folded = new Set();
let selected = null;    /* {track, row, level, index} */
let matches = null;     /* by label: whether the search finds it; null: nothing is searched */
let theme = {};
const fills = [];       /* by label */

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	theme = {};
	for (const name of ["page", "raised", "line", "strong-line", "text", "soft", "accent", "fault", "band",
		"slice-light", "slice-rich", "on-slice", "arrow", "area", "edge", "open"])
		theme[name] = style.getPropertyValue("--" + name).trim();
	fills.length = 0;
}

/* Categories of the agent have colours of their own; others get one by their name. */
const hues = {malloc: 28, pthread: 280, io: 210, net: 175, time: 55, process: 330, dl: 245, log: 0,
	function: 130, plt: 95, sched: 300, agent: 220, processor: 150, memory: 15, signal: 350};

function hash(text) {
	let value = 7;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value, 31) + text.charCodeAt(i) | 0;
	return value >>> 0;
}

function fillOf(label) {
	if (!fills[label]) {
		const [category, name] = head.labels[label], own = hash(name);
		/* Threads on processors differ by hue, calls of one category a little. */
		const hue = category === "processor" ? own % 360
			: (category in hues ? hues[category] : hash(category) % 360) + own % 25 - 12;
		const light = parseInt(theme["slice-light"], 10) + (own >> 8) % 11 - 5;
		fills[label] = `hsl(${hue} ${theme["slice-rich"]} ${light}%)`;
	}
	return fills[label];
}

function trackOrder(track) {
	const kinds = {counter: track.label.startsWith("heap in use") ? 0 : 3, thread: 1, lifetimes: 2};
	return kinds[track.kind];
}

function firstBegin(list) {
	let first = Infinity;
	for (const track of list)
		for (const row of track.rows)
			if (row[0].count)
				first = Math.min(first, row[0].begin[0]);
	return first;
}

/* Processors, and then the processes in the order in which they began: [title, key, tracks]. */
function groupsOfTracks() {
	const processors = tracks.filter((track) => track.kind === "processor");
	const groups = processors.length ? [["Processors", "processors", processors]] : [];
	const processes = head.processes.map((process) => {
		const own = tracks.filter((track) => track.process === process);
		return {process, own, first: firstBegin(own)};
	});
	processes.sort((a, b) => a.first - b.first || a.process.number - b.process.number);
	processors.sort((a, b) => a.label.localeCompare(b.label, "en", {numeric: true}));
	for (const {process, own} of processes) {
		own.sort((a, b) => trackOrder(a) - trackOrder(b) || (a.thread || 0) - (b.thread || 0) ||
			a.label.localeCompare(b.label));
		groups.push([`${process.name || "process"} ${process.number}`, "p" + process.koid, own]);
	}
	return groups;
}

let groups = [];

/* Lifetimes and counters of a process are folded at first, because there are many of them and few look. */
const folders = {2: ["lifetimes", "l"], 3: ["counters", "c"]};

function folderOf(track) {
	const folder = folders[trackOrder(track)];
	return folder && track.process ? {label: folder[0], key: folder[1] + track.process.koid} : null;
}

function foldAtFirst() {
	for (const track of tracks)
		if (folderOf(track))
			folded.add(folderOf(track).key);
}

function addTrackLanes(track, put) {
	const key = "t" + track.place;
	const few = track.kind === "thread" && track.rows.length <= 1 && !track.momentRows.length;
	const isFolded = folded.has(key);
	if (track.kind === "counter" && !isFolded) {
		put({kind: "counter", h: COUNTER, track, key, label: track.label});
		return;
	}
	if (isFolded) {
		put({kind: "folded", h: ROW, track, key, label: track.label});
		return;
	}
	let label = track.label;
	for (const row of track.momentRows) {
		put({kind: "moments", h: track.rows.length ? MOMENTS : ROW, track, row, key,
			label: track.rows.length ? "" : label});
	}
	track.rows.forEach((row, depth) => {
		put({kind: "slices", h: ROW, track, row, depth, key: few ? null : key, label});
		label = "";
	});
	if (!track.rows.length && !track.momentRows.length)
		put({kind: "folded", h: ROW, track, key: null, label});
	put({kind: "space", h: 3, track});
}

function layLanes() {
	let y = 0;
	lanes = [];
	const put = (lane) => {
		lane.y = y;
		y += lane.h;
		lanes.push(lane);
	};
	for (const track of tracks)
		track.lanes = null;
	for (const [title, key, own] of groups) {
		put({kind: "title", h: TITLE, key, label: title, tracks: own});
		if (folded.has(key))
			continue;
		let last = null;
		for (const track of own) {
			const folder = folderOf(track);
			if (folder && folder.key !== last)
				put({kind: "folder", h: ROW, key: folder.key, label: folder.label});
			last = folder && folder.key;
			if (!folder || !folded.has(folder.key))
				addTrackLanes(track, put);
		}
	}
	for (const lane of lanes)
		if (lane.track && lane.kind !== "space")
			(lane.track.lanes = lane.track.lanes || []).push(lane);
	fullHeight = y;
	view.top = Math.max(0, Math.min(view.top, fullHeight - (view.height - RULER)));
}

const nsPerPixel = () => (view.to - view.from) / Math.max(1, view.width - view.gutter);
const xOf = (ns) => view.gutter + (ns - view.from) / nsPerPixel();
const nsAt = (x) => view.from + (x - view.gutter) * nsPerPixel();
const yOf = (lane) => lane.y - view.top + RULER;

/* Returns the coarsest level that shows all that pixels can, of those that have been read. */
function levelFor(row) {
	const pixel = nsPerPixel();
	let last = row[0];
	for (const level of row) {
		if (!level.begin)
			break;
		last = level;
		if (level.width <= pixel)
			break;
	}
	return last;
}

/* -- Drawing ---------------------------------------------------------------------------------------- */

let isAsked = false;
let picture = {slices: [], arrows: [], points: 0};      /* what was drawn last; for tests, with .keep */
const FONT = "11px system-ui, 'DejaVu Sans', sans-serif", CHARACTER = 6.6;

function ask() {
	if (isAsked)
		return;
	isAsked = true;
	requestAnimationFrame(() => {
		isAsked = false;
		draw();
	});
}

function note(lane, level, index, x, width) {
	if (fxt.keep)
		picture.slices.push({track: lane.track.place, kind: lane.kind, depth: lane.depth || 0, x, width,
			y: yOf(lane), height: lane.h, begin: level.begin[index], end: level.end[index],
			name: head.labels[level.label[index]][1],
			count: level.width ? level.extra[index] + 1 : 1});
}

function drawSlices(lane) {
	const level = levelFor(lane.row), y = yOf(lane) + 1, h = lane.h - 2;
	const {begin, end, label, count, extra} = level;
	const scale = 1 / nsPerPixel(), left = view.gutter;
	let i = firstPlace(count, (k) => end[k] >= view.from), filled = -1, fill = "";
	for (; i < count && begin[i] <= view.to; i++) {
		let x = left + (begin[i] - view.from) * scale;
		const right = left + (end[i] - view.from) * scale;
		/* Of what begins and ends in one pixel, the first is drawn. */
		if (right < filled)
			continue;
		x = Math.max(x, left - 2);
		const width = Math.max(1, Math.min(right, view.width + 2) - x);
		const wanted = !matches || matches[label[i]] ? fillOf(label[i]) : theme.band;
		if (wanted !== fill)
			ink.fillStyle = fill = wanted;
		ink.fillRect(x, y, width > 3 ? width - 0.5 : width, h);
		note(lane, level, i, x, width);
		filled = Math.floor(x + width);
		if (width > 24 && (!level.width || !extra[i])) {
			if (!level.width && extra[i] & 1 && lane.kind === "slices") {
				ink.fillStyle = theme.open;
				ink.fillRect(x + width - 2, y, 2, h);
			}
			const text = short(head.labels[label[i]][1], Math.floor((width - 6) / CHARACTER));
			ink.fillStyle = matches && !matches[label[i]] ? theme.soft : theme["on-slice"];
			ink.fillText(text, x + 4, y + h / 2 + 4);
			fill = "";
		}
	}
	if (selected && selected.row === lane.row)
		outline(xOf(selected.begin), y, xOf(selected.end) - xOf(selected.begin), h);
}

function outline(x, y, width, h) {
	ink.strokeStyle = theme.text;
	ink.lineWidth = 2;
	const left = Math.max(view.gutter - 4, x);
	ink.strokeRect(left, y, Math.max(2, Math.min(x + width, view.width + 4) - left), h);
	ink.lineWidth = 1;
}

function drawMoments(lane) {
	const level = levelFor(lane.row), y = yOf(lane), h = lane.h;
	const {begin, label, count} = level;
	let last = -10;
	for (let i = firstPlace(count, (k) => level.end[k] >= view.from); i < count && begin[i] <= view.to; i++) {
		const x = xOf(begin[i]);
		if (x < last + 1)
			continue;
		last = x;
		ink.fillStyle = !matches || matches[label[i]] ? fillOf(label[i]) : theme.band;
		ink.beginPath();
		ink.moveTo(x, y + 1);
		ink.lineTo(x + 3.5, y + h - 1);
		ink.lineTo(x - 3.5, y + h - 1);
		ink.fill();
		note(lane, level, i, x, 1);
	}
	if (selected && selected.row === lane.row)
		outline(xOf(selected.begin) - 4, y, 8, h);
}

function counterText(track, value) {
	return /bytes/.test(track.label) ? bytes(value) : Number.isInteger(value) ? amount(value)
		: value.toPrecision(4);
}

/* The steps between points; of the points in one pixel, the least and the most. */
function drawCounter(lane) {
	const {at, values, least, most, points} = lane.track;
	if (!at)
		return;
	const base = yOf(lane) + lane.h - 3, range = most - least || 1, h = lane.h - 8;
	const yAt = (value) => base - (value - least) / range * h;
	let i = Math.max(0, firstPlace(points, (k) => at[k] >= view.from) - 1);
	const path = new Path2D();
	let x = Math.max(view.gutter, xOf(at[i])), y = yAt(values[i]), drawn = 0;
	path.moveTo(x, base);
	path.lineTo(x, y);
	for (i++; i < points && at[i] <= view.to; i++) {
		x = xOf(at[i]);
		let low = values[i], high = values[i];
		for (; i + 1 < points && xOf(at[i + 1]) < x + 1; i++) {
			low = Math.min(low, values[i + 1]);
			high = Math.max(high, values[i + 1]);
		}
		path.lineTo(x, y);
		if (low !== high) {
			path.lineTo(x, yAt(high));
			path.lineTo(x, yAt(low));
		}
		y = yAt(values[i]);
		path.lineTo(x, y);
		drawn++;
	}
	x = i < points ? view.width : Math.min(view.width, Math.max(x, xOf(lane.track.process.end)));
	path.lineTo(x, y);
	path.lineTo(x, base);
	ink.fillStyle = theme.area;
	ink.fill(path);
	ink.strokeStyle = theme.edge;
	ink.stroke(path);
	picture.points += drawn;
}

function drawFolded(lane) {
	const y = yOf(lane) + 6;
	ink.fillStyle = theme.line;
	for (const row of lane.track.rows.slice(0, 1)) {
		const {begin, end, count} = levelFor(row);
		let filled = -1;
		for (let i = firstPlace(count, (k) => end[k] >= view.from); i < count && begin[i] <= view.to; i++) {
			const x = Math.max(view.gutter, xOf(begin[i])), right = Math.min(view.width, xOf(end[i]));
			if (right < filled)
				continue;
			ink.fillRect(x, y, Math.max(1, right - x), 6);
			filled = Math.floor(Math.max(right, x + 1));
		}
	}
}

function drawTitle(lane) {
	ink.fillStyle = theme.band;
	ink.fillRect(0, yOf(lane), view.width, lane.h - 1);
}

const drawers = {slices: drawSlices, moments: drawMoments, counter: drawCounter, folded: drawFolded,
	title: drawTitle, folder: () => {}, space: () => {}};

/* -- Arrows -- */

/* Returns where on its track a moment is: in the innermost call that it lies in, if its lane is shown. */
function arrowPlace(place, ns) {
	const track = tracks[place];
	if (!track.lanes)
		return null;
	let lane = track.lanes.find((one) => one.kind !== "moments") || track.lanes[0];
	for (const one of track.lanes) {
		if (one.kind !== "slices")
			continue;
		const slices = one.row[one.row.length - 1];
		const i = firstPlace(slices.count, (k) => slices.end[k] >= ns);
		if (i < slices.count && slices.begin[i] <= ns)
			lane = one;
	}
	return {x: xOf(ns), y: yOf(lane) + lane.h / 2, lane};
}

/* Returns whether an arrow begins or ends in the slice that is selected. */
function isOfSelected(i) {
	if (!selected || selected.count > 1)
		return false;
	const {track, begin, end} = selected, own = track.place;
	return (arrows.fromTrack[i] === own && arrows.from[i] >= begin && arrows.from[i] <= end) ||
		(arrows.toTrack[i] === own && arrows.to[i] >= begin && arrows.to[i] <= end);
}

function drawArrow(i, from, to, strong) {
	ink.strokeStyle = ink.fillStyle = strong ? theme.accent : theme.arrow;
	ink.globalAlpha = strong ? 1 : matches === null ? 0.8 : 0.4;
	ink.lineWidth = strong ? 2 : 1;
	const bend = Math.max(12, Math.min(60, Math.abs(to.x - from.x) / 2));
	ink.beginPath();
	ink.moveTo(from.x, from.y);
	ink.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
	ink.stroke();
	ink.beginPath();
	ink.moveTo(to.x, to.y);
	ink.lineTo(to.x - 6, to.y - 3.5);
	ink.lineTo(to.x - 6, to.y + 3.5);
	ink.fill();
	ink.globalAlpha = 1;
	ink.lineWidth = 1;
	if (fxt.keep)
		picture.arrows.push({from: arrows.from[i], to: arrows.to[i], fromTrack: arrows.fromTrack[i],
			toTrack: arrows.toTrack[i], x1: from.x, y1: from.y, x2: to.x, y2: to.y});
}

const MOST_ARROWS = 1500;

/* Draws the arrows that are in the picture. Where there are more than the eye can follow, those of what is
 * selected are drawn, and how many there are is told. */
function drawArrows() {
	if (!arrows)
		return;
	const seen = [];
	for (let i = 0; i < arrows.count && arrows.from[i] <= view.to; i++) {
		if (Math.max(arrows.from[i], arrows.to[i]) < view.from)
			continue;
		seen.push(i);
	}
	picture.arrowsInTime = seen.length;
	const bottom = view.height;
	for (const i of seen) {
		const strong = isOfSelected(i);
		if (!strong && seen.length > MOST_ARROWS)
			continue;
		const from = arrowPlace(arrows.fromTrack[i], arrows.from[i]);
		const to = arrowPlace(arrows.toTrack[i], arrows.to[i]);
		if (!from || !to || (from.y < RULER && to.y < RULER) || (from.y > bottom && to.y > bottom))
			continue;
		drawArrow(i, from, to, strong);
	}
	if (seen.length > MOST_ARROWS)
		corner(`${amount(seen.length)} arrows here: zoom in, or select a call, to see them`);
}

function corner(text) {
	const width = text.length * CHARACTER + 16;
	ink.fillStyle = theme.raised;
	ink.fillRect(view.width - width - 6, view.height - 24, width, 19);
	ink.fillStyle = theme.soft;
	ink.fillText(text, view.width - width + 2, view.height - 10);
}

/* -- The ruler, the labels, and all of it -- */

function drawRuler() {
	ink.fillStyle = theme.page;
	ink.fillRect(0, 0, view.width, RULER);
	const wanted = nsPerPixel() * 110, power = 10 ** Math.floor(Math.log10(wanted));
	const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted));
	ink.strokeStyle = theme.line;
	ink.beginPath();
	for (let ns = Math.ceil(view.from / step) * step; ns <= view.to; ns += step) {
		const x = Math.round(xOf(ns)) + 0.5;
		ink.moveTo(x, 18);
		ink.lineTo(x, view.height);
		ink.fillStyle = theme.soft;
		ink.fillText(duration(ns), x + 3, 15);
	}
	ink.moveTo(0, RULER - 0.5);
	ink.lineTo(view.width, RULER - 0.5);
	ink.stroke();
	/* Which part of the whole is shown. */
	const all = head.span_ns || 1, span = view.width - view.gutter;
	ink.fillStyle = theme.band;
	ink.fillRect(view.gutter, 0, span, 4);
	ink.fillStyle = theme.accent;
	const left = view.gutter + Math.max(0, view.from / all * span);
	const right = view.gutter + Math.min(span, view.to / all * span);
	ink.fillRect(left, 0, Math.max(2, right - left), 4);
}

/* Flags where the findings are. Those at one place share a flag. */
function drawFlags() {
	const at = new Map();
	head.moments_of_findings.forEach((moment, i) => {
		if (moment && moment[1] <= view.to && moment[2] >= view.from) {
			const x = Math.round(Math.max(view.gutter, xOf(moment[1])) / 44) * 44;
			const real = Math.max(view.gutter, xOf(moment[1]));
			if (!at.has(x))
				at.set(x, [real, []]);
			at.get(x)[1].push("F" + (i + 1));
		}
	});
	for (const [x, names] of at.values()) {
		const text = names.length > 2 ? `${names[0]} +${names.length - 1}` : names.join(" ");
		ink.fillStyle = theme.fault;
		ink.fillRect(x, 20, 1.5, view.height);
		ink.fillRect(x, 20, text.length * 6.6 + 6, 14);
		ink.fillStyle = theme.page;
		ink.fillText(text, x + 3, 31);
	}
}

function drawLabels(shown) {
	ink.fillStyle = theme.page;
	ink.fillRect(0, RULER, view.gutter, view.height);
	ink.strokeStyle = theme.line;
	ink.beginPath();
	ink.moveTo(view.gutter - 0.5, 0);
	ink.lineTo(view.gutter - 0.5, view.height);
	ink.stroke();
	for (const lane of shown) {
		if (lane.kind === "title")
			drawTitle(lane);
		if (!lane.label)
			continue;
		const isTitle = lane.kind === "title", x = isTitle ? 6 : 18;
		const mark = lane.key ? (folded.has(lane.key) ? "▸ " : "▾ ") : "";
		ink.font = isTitle ? "bold " + FONT : FONT;
		ink.fillStyle = theme.text;
		const width = isTitle ? view.width : view.gutter - x;
		ink.fillText(short(mark + lane.label, Math.floor(width / CHARACTER)), x, yOf(lane) + 13);
		ink.font = FONT;
		if (lane.kind === "counter" && lane.track.at) {
			ink.fillStyle = theme.soft;
			ink.fillText(short("at most " + counterText(lane.track, lane.track.most),
				Math.floor(width / CHARACTER)), x + 10, yOf(lane) + 27);
		}
	}
}

function draw() {
	const started = performance.now();
	const ratio = window.devicePixelRatio || 1;
	view.width = canvas.clientWidth;
	view.height = canvas.clientHeight;
	if (canvas.width !== Math.round(view.width * ratio) || canvas.height !== Math.round(view.height * ratio)) {
		canvas.width = Math.round(view.width * ratio);
		canvas.height = Math.round(view.height * ratio);
	}
	ink.setTransform(ratio, 0, 0, ratio, 0, 0);
	ink.font = FONT;
	ink.fillStyle = theme.page;
	ink.fillRect(0, 0, view.width, view.height);
	picture = {slices: [], arrows: [], points: 0, arrowsInTime: 0};
	if (view.tab)
		drawFlame(head.flames[view.tab - 1]);
	else
		drawTimeline();
	fxt.frames.push(performance.now() - started);
	if (!fxt.firstPicture)
		fxt.firstPicture = performance.now();
}

function drawTimeline() {
	view.gutter = view.width < 600 ? 104 : 190;
	const place = firstPlace(lanes.length, (i) => lanes[i].y + lanes[i].h > view.top), shown = [];
	for (let i = place; i < lanes.length && yOf(lanes[i]) < view.height; i++)
		shown.push(lanes[i]);
	drawRuler();
	ink.save();
	ink.beginPath();
	ink.rect(view.gutter, RULER, view.width, view.height);
	ink.clip();
	for (const lane of shown)
		drawers[lane.kind](lane);
	drawArrows();
	ink.restore();
	drawLabels(shown);
	drawFlags();
	if (!tracks.length)
		corner("There is nothing in this trace that has a time.");
	if (fullHeight > view.height - RULER) {
		const room = view.height - RULER, size = Math.max(20, room * room / fullHeight);
		ink.fillStyle = theme["strong-line"];
		ink.fillRect(view.width - 4, RULER + view.top / (fullHeight - room) * (room - size), 3, size);
	}
}

/* -- What is selected ------------------------------------------------------------------------------- */

/* Returns what lies at a place of the canvas, or null. */
function hit(x, y) {
	const at = y - RULER + view.top;
	const lane = y < RULER ? null : lanes[firstPlace(lanes.length, (i) => lanes[i].y + lanes[i].h > at)];
	if (!lane || x < view.gutter)
		return lane ? {lane} : null;
	if (lane.kind !== "slices" && lane.kind !== "moments")
		return {lane};
	const level = levelFor(lane.row), reach = (lane.kind === "moments" ? 5 : 1.5) * nsPerPixel(), ns = nsAt(x);
	const first = firstPlace(level.count, (k) => level.end[k] >= ns - reach);
	let best = -1, distance = Infinity;
	for (let i = first; i < Math.min(first + 8, level.count); i++) {
		const away = Math.max(level.begin[i] - ns, ns - level.end[i], 0);
		if (away <= reach && away < distance) {
			best = i;
			distance = away;
		}
	}
	return best < 0 ? {lane} : {lane, thing: thingOf(lane.track, lane.row, level, best)};
}

function thingOf(track, row, level, index) {
	return {track, row, level, index, begin: level.begin[index], end: level.end[index],
		label: level.label[index], count: level.width ? level.extra[index] + 1 : 1,
		longest: level.longest ? level.longest[index] : level.end[index] - level.begin[index]};
}

function titleOf(thing) {
	const [category, name] = head.labels[thing.label];
	return category === "processor" ? name : `${name} (${category})`;
}

function trackTitle(track) {
	const process = track.process;
	return (process ? `${process.name || "process"} ${process.number}, ` : "") + track.label;
}

function describe(thing) {
	if (thing.count > 1)
		return `${amount(thing.count)} in ${duration(thing.end - thing.begin)}\nthe longest: ` +
			`${titleOf(thing)}, ${duration(thing.longest)}`;
	return titleOf(thing) + (thing.end > thing.begin ? `\n${duration(thing.end - thing.begin)}` : "");
}

function tableOf(rows) {
	const body = make("tbody");
	for (const [name, value] of rows)
		body.append(make("tr", make("th", name), make("td", value)));
	return make("table", body);
}

function stackOf(frame) {
	const list = make("ol");
	for (; frame >= 0; frame = head.frames[frame][0])
		list.append(make("li", head.frames[frame][1]));
	return list;
}

function column(title, content) {
	return make("div", make("h2", title), content);
}

function showArguments(thing, columns) {
	const list = argumentsOf(thing.track, thing.row, thing.index), rows = [], stacks = [];
	for (const [name, type, value] of list) {
		if (type === 7)
			stacks.push([name === "stack" ? "Called by" : name.replace(/_/g, " "), value]);
		else
			rows.push([name, type === 8 ? `${value[0]} ${value[1]}` : value]);
	}
	if (rows.length)
		columns.append(column("Arguments", tableOf(rows)));
	for (const [title, frame] of stacks)
		columns.append(column(title, stackOf(frame)));
}

function showArrows(thing, columns) {
	const list = make("ol");
	for (let i = 0; arrows && i < arrows.count && list.childElementCount < 20; i++) {
		if (!isOfSelected(i))
			continue;
		const isFrom = arrows.fromTrack[i] === thing.track.place && arrows.from[i] >= thing.begin &&
			arrows.from[i] <= thing.end;
		const place = isFrom ? arrows.toTrack[i] : arrows.fromTrack[i];
		const ns = isFrom ? arrows.to[i] : arrows.from[i];
		const go = make("button", `${isFrom ? "to" : "from"} ${trackTitle(tracks[place])}, ` +
			`${duration(Math.abs(arrows.to[i] - arrows.from[i]))}`);
		go.addEventListener("click", () => goTo(tracks[place], ns, ns));
		list.append(make("li", head.labels[arrows.label[i]][1] + " ", go));
	}
	if (list.childElementCount)
		columns.append(column("Arrows", list));
}

let asked = 0;

/* Says below the picture what is selected. */
async function showSelected() {
	const panel = byId("selection"), thing = selected, turn = ++asked;
	panel.replaceChildren();
	if (!thing)
		return ask();
	const columns = make("div");
	columns.className = "columns";
	const facts = [["Where", trackTitle(thing.track)], ["Begin", seconds(thing.begin)]];
	if (thing.end > thing.begin)
		facts.push(["Duration", duration(thing.end - thing.begin)]);
	panel.append(make("h2", thing.count > 1 ? `${amount(thing.count)} calls, too short to tell apart here`
		: titleOf(thing)));
	columns.append(column("Time", tableOf(facts)));
	panel.append(columns);
	ask();
	if (thing.count > 1) {
		panel.append(make("p", `The longest is ${titleOf(thing)}, ${duration(thing.longest)}. ` +
			"Press f to zoom in on them."));
		return;
	}
	if (thing.level.width || !isComplete)
		return;
	if (thing.level.extra[thing.index] & 1)
		facts.push(["End", "none was recorded"]);
	columns.replaceChildren(column("Time", tableOf(facts)));
	if (thing.level.extra[thing.index] >> 1) {
		if (!details)
			details = await (detailsAsked = detailsAsked || unpack("details"));
		if (turn !== asked)
			return;
		showArguments(thing, columns);
	}
	showArrows(thing, columns);
	ask();
}

let detailsAsked = null;

function select(thing) {
	selected = thing;
	return showSelected();
}

/* Selects the slice itself, where a run of one was found. */
function resolve(thing) {
	const slices = thing.row[thing.row.length - 1];
	if (thing.count > 1 || !thing.level.width || !slices.begin)
		return thing;
	const i = firstPlace(slices.count, (k) => slices.begin[k] >= thing.begin);
	return thingOf(thing.track, thing.row, slices, i);
}

function look(from, to) {
	const span = Math.min(Math.max(to - from, 20), Math.max(head.span_ns * 1.1, 20));
	let middle = (from + to) / 2;
	middle = Math.min(Math.max(middle, 0), Math.max(head.span_ns, 1));
	view.from = middle - span / 2;
	view.to = middle + span / 2;
	ask();
}

function unfold(track) {
	for (const [, key, own] of groups)
		if (own.includes(track))
			folded.delete(key);
	folded.delete("t" + track.place);
	if (folderOf(track))
		folded.delete(folderOf(track).key);
	layLanes();
}

/* Brings a stretch of a track into the picture, and selects the call that is it, if there is one. */
function goTo(track, begin, end) {
	show(0);
	unfold(track);
	const lane = track.lanes && track.lanes[0];
	if (lane && (yOf(lane) < RULER || yOf(lane) + 60 > view.height))
		view.top = Math.max(0, Math.min(lane.y - 40, fullHeight - (view.height - RULER)));
	const around = Math.max((end - begin) * 2, nsPerPixel() * 2, 2000);
	look(begin - around, end + around);
	for (const row of [...track.rows, ...track.momentRows].reverse()) {
		const level = row[row.length - 1];
		if (!level.begin)
			continue;
		const i = firstPlace(level.count, (k) => level.end[k] >= begin);
		if (i < level.count && level.begin[i] <= begin && (begin === end || level.end[i] === end))
			return select(thingOf(track, row, level, i));
	}
	return select(null);
}

function goToFinding(number) {
	const moment = head.moments_of_findings[number - 1];
	if (moment)
		goTo(tracks[moment[0]], moment[1], moment[2]);
	return moment;
}

/* -- Flame graphs ----------------------------------------------------------------------------------- */

/* Gives each node its children, and its place from 0 to 1 and depth. */
function prepareFlame(flame) {
	const nodes = flame.nodes.map((node) => node && {parent: node[0], label: node[1], self: node[2],
		total: node[3], isKernel: node[4], children: [], left: 0, depth: 0});
	flame.list = nodes;
	flame.roots = [];
	for (const node of nodes)
		if (node)
			(node.parent < 0 ? flame.roots : nodes[node.parent].children).push(node);
	const place = (list, left, depth) => {
		list.sort((a, b) => b.total - a.total);
		for (const node of list) {
			node.left = left;
			node.depth = depth;
			left += node.total / flame.total;
		}
	};
	/* Without recursion, because stacks may be of any depth. */
	place(flame.roots, 0, 0);
	const open = [...flame.roots];
	flame.depth = 0;
	for (let node; (node = open.pop());) {
		flame.depth = Math.max(flame.depth, node.depth + 1);
		place(node.children, node.left, node.depth + 1);
		open.push(...node.children);
	}
	flame.from = 0;
	flame.to = 1;
	flame.top = 0;
}

function weightText(flame, weight) {
	if (flame.unit === "bytes")
		return bytes(weight);
	if (flame.unit === "ns")
		return duration(weight);
	return `${amount(weight)} samples` + (flame.hz ? `, ${duration(weight / flame.hz * 1e9)}` : "");
}

function flameText(flame, node) {
	const share = (100 * node.total / flame.total).toFixed(1);
	return `${node.label}\n${weightText(flame, node.total)}, ${share} %` +
		(node.self !== node.total ? `; itself ${weightText(flame, node.self)}` : "");
}

function drawFlame(flame) {
	const scale = view.width / (flame.to - flame.from);
	ink.fillStyle = theme.soft;
	ink.fillText(`${flame.title}: ${weightText(flame, flame.total)}. A function is as wide as what it and its ` +
		"callees took, below its caller.", 8, 14);
	flame.drawn = [];
	for (const node of flame.list) {
		if (!node)
			continue;
		const x = (node.left - flame.from) * scale, width = node.total / flame.total * scale;
		const y = 22 + node.depth * ROW - flame.top;
		if (width < 0.5 || x > view.width || x + width < 0 || y > view.height || y < 22)
			continue;
		const isFound = !matches || node.label.toLowerCase().includes(wanted);
		const light = parseInt(theme["slice-light"], 10) + hash(node.label) % 13 - 6;
		const hue = node.isKernel ? 200 : node.depth ? 18 + hash(node.label) % 40 : 220;
		ink.fillStyle = isFound ? `hsl(${hue} ${theme["slice-rich"]} ${light}%)` : theme.band;
		const left = Math.max(x, 0), right = Math.min(x + width, view.width);
		ink.fillRect(left, y, Math.max(0.5, right - left - 0.5), ROW - 1);
		flame.drawn.push({node, left, right, y});
		if (right - left > 24) {
			ink.fillStyle = isFound ? theme["on-slice"] : theme.soft;
			ink.fillText(short(node.label, Math.floor((right - left - 6) / CHARACTER)), left + 4, y + 13);
		}
	}
}

function flameAt(x, y) {
	const flame = head.flames[view.tab - 1];
	const one = flame.drawn.find((box) => x >= box.left && x <= box.right && y >= box.y && y < box.y + ROW);
	return one && one.node;
}

function showFlameNode(node) {
	const flame = head.flames[view.tab - 1];
	flame.from = node ? node.left : 0;
	flame.to = node ? node.left + node.total / flame.total : 1;
	flame.top = 0;
	byId("selection").replaceChildren();
	if (node) {
		const callers = [];
		for (let one = node; one.parent >= 0; one = flame.list[one.parent])
			callers.push(one.label);
		const list = make("ol");
		list.append(...callers.map((label) => make("li", label)));
		byId("selection").append(make("h2", flameText(flame, node).replace("\n", ": ")), list);
	}
	ask();
}

/* -- Hands on it ------------------------------------------------------------------------------------ */

function zoom(factor, x) {
	const at = nsAt(x), span = (view.to - view.from) * factor;
	const least = 20, most = Math.max(head.span_ns * 1.1, least);
	const limited = Math.min(Math.max(span, least), most), share = (at - view.from) / (view.to - view.from);
	pan(at - share * limited, limited);
}

/* Shows `span` from `from` on; the middle stays within the trace. */
function pan(from, span) {
	view.from = Math.min(Math.max(from, -span / 2), head.span_ns - span / 2);
	view.to = view.from + span;
	ask();
}

function scroll(pixels) {
	if (view.tab) {
		const flame = head.flames[view.tab - 1];
		flame.top = Math.max(0, Math.min(flame.top + pixels, flame.depth * ROW - view.height + 40));
	} else {
		view.top = Math.max(0, Math.min(view.top + pixels, fullHeight - (view.height - RULER)));
	}
	ask();
}

const pressed = new Set();
let lastStep = 0, mouse = {x: -1, y: -1};

/* Moves as long as keys are down. */
function step(now) {
	if (!pressed.size)
		return;
	/* The first frame may have begun before the key went down. */
	const ms = Math.min(50, Math.max(0, now - lastStep)), span = view.to - view.from;
	lastStep = now;
	const x = mouse.x > view.gutter ? mouse.x : (view.gutter + view.width) / 2;
	if (pressed.has("w"))
		zoom(0.996 ** ms, x);
	if (pressed.has("s"))
		zoom(1.004 ** ms, x);
	if (pressed.has("a"))
		pan(view.from - span * ms / 1000, span);
	if (pressed.has("d"))
		pan(view.from + span * ms / 1000, span);
	requestAnimationFrame(step);
}

/* Selects the call before or behind in the row, or the one around or within. */
function walk(along, down) {
	if (!selected)
		return;
	const {track, row, begin, end} = resolve(selected);
	let target = row, i;
	if (down)
		target = track.rows[track.rows.indexOf(row) + down];
	if (!target || (down && !track.rows.includes(row)))
		return;
	const level = target[target.length - 1];
	if (down < 0)
		i = firstPlace(level.count, (k) => level.end[k] >= end);
	else
		i = firstPlace(level.count, (k) => level.begin[k] >= begin) + along;
	if (i < 0 || i >= level.count || (down > 0 && level.begin[i] > end))
		return;
	const thing = thingOf(track, target, level, i);
	if (thing.begin < view.from || thing.end > view.to)
		pan((thing.begin + thing.end) / 2 - (view.to - view.from) / 2, view.to - view.from);
	select(thing);
}

function zoomToSelected() {
	if (!selected)
		return;
	const around = Math.max((selected.end - selected.begin) * 0.2, 10);
	look(selected.begin - around, selected.end + around);
}

/* Shows all of it. */
function showAll() {
	if (view.tab)
		return showFlameNode(null);
	look(-head.span_ns * 0.01, head.span_ns * 1.01);
}

const keys = {
	f: [zoomToSelected, "zoom to what is selected"],
	0: [showAll, "show all of it"],
	"/": [() => byId("search").focus(), "search"],
	n: [() => findNext(1), "the next that the search finds"],
	p: [() => findNext(-1), "the one before"],
	ArrowLeft: [() => walk(-1, 0), "the call before"],
	ArrowRight: [() => walk(1, 0), "the call behind"],
	ArrowUp: [() => (selected && !view.tab ? walk(0, -1) : scroll(-40)), "the call around, or scroll up"],
	ArrowDown: [() => (selected && !view.tab ? walk(0, 1) : scroll(40)), "the first call within, or scroll down"],
	PageUp: [() => scroll(-view.height * 0.8), "scroll up"],
	PageDown: [() => scroll(view.height * 0.8), "scroll down"],
	"[": [() => show((view.tab + head.flames.length) % (head.flames.length + 1)), "the picture before"],
	"]": [() => show((view.tab + 1) % (head.flames.length + 1)), "the next picture"],
	Escape: [() => (view.tab ? showFlameNode(null) : select(null)), "select nothing"],
	"?": [() => byId("help").showModal(), "this list"],
};

function onKey(event) {
	const inSearch = event.target === byId("search");
	if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open)
		return;
	if (inSearch) {
		if (event.key === "Enter")
			findNext(event.shiftKey ? -1 : 1);
		if (event.key === "Escape")
			canvas.focus();
		return;
	}
	const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
	if ("wasd".includes(key) && !view.tab) {
		if (!pressed.size) {
			lastStep = performance.now();
			requestAnimationFrame(step);
		}
		pressed.add(key);
	} else if (keys[key]) {
		/* A panel that has the focus is scrolled by the browser. */
		if (event.target === byId("selection") && /Arrow|Page/.test(key))
			return;
		keys[key][0]();
	} else {
		return;
	}
	event.preventDefault();
}

function onWheel(event) {
	event.preventDefault();
	const unit = event.deltaMode ? 30 : 1;
	if (!view.tab && (event.ctrlKey || event.metaKey))
		zoom(1.003 ** (event.deltaY * unit), event.offsetX);
	else if (!view.tab && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)))
		pan(view.from + (event.deltaX || event.deltaY) * unit * nsPerPixel(), view.to - view.from);
	else
		scroll(event.deltaY * unit);
}

const pointers = new Map();
let hasMoved = false;

function onPointerMove(event) {
	const before = pointers.get(event.pointerId);
	mouse = {x: event.offsetX, y: event.offsetY};
	if (!before)
		return showTip(event);
	const others = [...pointers.values()].filter((one) => one !== before);
	const now = {x: event.offsetX, y: event.offsetY};
	if (Math.abs(now.x - before.startX) + Math.abs(now.y - before.startY) > 4)
		hasMoved = true;
	if (hasMoved && others.length) {
		const apart = (a, b) => Math.max(20, Math.abs(a.x - b.x));
		if (!view.tab)
			zoom(apart(before, others[0]) / apart(now, others[0]), (now.x + others[0].x) / 2);
	} else if (hasMoved) {
		if (!view.tab)
			pan(view.from - (now.x - before.x) * nsPerPixel(), view.to - view.from);
		scroll(before.y - now.y);
	}
	before.x = now.x;
	before.y = now.y;
}

function onPointerDown(event) {
	byId("tip").hidden = true;
	canvas.setPointerCapture(event.pointerId);
	pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY, startX: event.offsetX,
		startY: event.offsetY});
	hasMoved = hasMoved && pointers.size > 1;
}

function onPointerUp(event) {
	pointers.delete(event.pointerId);
	if (!hasMoved && event.type === "pointerup")
		click(event.offsetX, event.offsetY);
	if (!pointers.size)
		hasMoved = false;
}

function click(x, y) {
	if (view.tab)
		return showFlameNode(flameAt(x, y) || null);
	const found = hit(x, y);
	if (found && found.lane.key && (x < view.gutter || found.lane.kind === "title" ||
		found.lane.kind === "folded" || found.lane.kind === "folder")) {
		if (!folded.delete(found.lane.key))
			folded.add(found.lane.key);
		layLanes();
		return ask();
	}
	return select(found && found.thing ? resolve(found.thing) : null);
}

function counterTip(lane, x) {
	const {at, values, points} = lane.track;
	const i = at ? firstPlace(points, (k) => at[k] > nsAt(x)) - 1 : -1;
	return i < 0 ? "" : `${lane.label}\n${counterText(lane.track, values[i])}`;
}

function showTip(event) {
	const tip = byId("tip"), x = event.offsetX, y = event.offsetY;
	let text = "";
	if (view.tab) {
		const node = flameAt(x, y);
		text = node ? flameText(head.flames[view.tab - 1], node) : "";
	} else {
		const found = hit(x, y);
		if (found && found.thing)
			text = describe(found.thing);
		else if (found && x < view.gutter && found.lane.track)
			text = trackTitle(found.lane.track) + (found.lane.track.left_out
				? `\n${amount(found.lane.track.left_out)} short calls are left out of the page` : "");
		else if (found && found.lane.kind === "counter")
			text = counterTip(found.lane, x);
	}
	tip.hidden = !text;
	tip.textContent = text;
	const right = event.clientX + tip.offsetWidth + 16 > window.innerWidth;
	tip.style.left = (right ? Math.max(4, event.clientX - tip.offsetWidth - 12) : event.clientX + 12) + "px";
	tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4) + "px";
}

/* -- Search -- */

let wanted = "";

function search(text) {
	wanted = text.trim().toLowerCase();
	matches = null;
	byId("hits").textContent = "";
	const handle = /^f([1-9]\d*)$/.exec(wanted);
	if (handle && Number(handle[1]) <= head.findings.length) {
		byId("hits").textContent = goToFinding(Number(handle[1])) ? "" : "it has no moment";
		return;
	}
	if (wanted) {
		matches = new Uint8Array(head.labels.length);
		head.labels.forEach(([category, name], i) => {
			matches[i] = `${category}:${name}`.toLowerCase().includes(wanted) ? 1 : 0;
		});
		const track = tracks.find((one) => one.kind === "thread" && one.lanes &&
			trackTitle(one).toLowerCase().includes(wanted));
		const count = countMatches();
		byId("hits").textContent = `${amount(count)} found`;
		if (!count && track && !view.tab)
			view.top = Math.max(0, Math.min(track.lanes[0].y - 40, fullHeight - (view.height - RULER)));
	}
	ask();
}

function eachSlices(does) {
	for (const track of tracks)
		for (const row of [...track.rows, ...track.momentRows])
			if (row[row.length - 1].begin)
				does(track, row, row[row.length - 1]);
}

function countMatches() {
	let count = 0;
	eachSlices((track, row, slices) => {
		for (let i = 0; i < slices.count; i++)
			count += matches[slices.label[i]];
	});
	return count;
}

/* Selects the nearest match behind (1) or before (-1) what is selected, in any track. */
function findNext(way) {
	if (!matches || view.tab)
		return;
	const at = selected ? selected.begin : way > 0 ? -1 : Infinity;
	const order = (track, row) => track.place * 4096 + (track.rows.includes(row) ? track.rows.indexOf(row) : 4095);
	const own = selected ? order(selected.track, selected.row) : -1;
	let best = null, bestOrder = 0;
	eachSlices((track, row, slices) => {
		const mine = order(track, row);
		/* Of those at one time, the one further down comes later. */
		const isBehind = (k) => slices.begin[k] > at || (slices.begin[k] === at && mine > own);
		let i = firstPlace(slices.count, isBehind);
		if (way < 0)
			for (i--; i >= 0 && slices.begin[i] === at && mine >= own; i--)
				;
		while (i >= 0 && i < slices.count && !matches[slices.label[i]])
			i += way;
		if (i < 0 || i >= slices.count)
			return;
		const sooner = best ? way * (slices.begin[i] - best.begin) || way * (mine - bestOrder) : -1;
		if (sooner < 0) {
			best = thingOf(track, row, slices, i);
			bestOrder = mine;
		}
	});
	if (!best)
		return;
	unfold(best.track);
	const lane = best.track.lanes.find((one) => one.row === best.row);
	if (lane && (yOf(lane) < RULER || yOf(lane) + lane.h > view.height))
		view.top = Math.max(0, Math.min(lane.y - 60, fullHeight - (view.height - RULER)));
	if (best.begin < view.from || best.end > view.to || best.end - best.begin < nsPerPixel() * 2) {
		const span = Math.min(view.to - view.from, Math.max((best.end - best.begin) * 20, 1000));
		look(best.begin - span / 2, best.begin + span / 2);
	}
	select(best);
}

/* -- The start -------------------------------------------------------------------------------------- */

function show(tab) {
	if (view.tab !== tab)
		byId("selection").replaceChildren();
	view.tab = tab;
	[...byId("tabs").children].forEach((button, i) => button.setAttribute("aria-selected", String(i === tab)));
	ask();
}

function showFindings() {
	head.findings.forEach((finding, i) => {
		const moment = head.moments_of_findings[i], go = make("button", finding.handle);
		if (finding.gravity !== "note")
			go.className = "fault";
		go.disabled = !moment;
		go.title = moment ? (moment[3] ? "Show the longest such call" : "Show where") : "It has no moment";
		go.addEventListener("click", () => goToFinding(i + 1));
		const what = make("div", make("span", finding.what + (finding.sure === "certain" ? ""
			: ` (${finding.sure})`)));
		what.className = "what";
		const more = [finding.culprit && `by ${finding.culprit}`, ...finding.evidence].filter(Boolean);
		if (more.length) {
			const line = make("div", more.join(" · "));
			line.className = "more";
			what.append(line);
		}
		byId("finding-list").append(make("li", go, what));
	});
	if (!head.findings.length)
		byId("finding-list").append(make("li", "The rules, which know some kinds of faults, have found none."));
}

function showHead() {
	const threads = tracks.filter((track) => track.kind === "thread");
	let calls = 0;
	for (const track of threads)
		for (const row of track.rows)
			calls += row[row.length - 1].count;
	document.title = head.title + " – fxt";
	byId("title").textContent = head.title;
	const parts = [duration(head.span_ns), `${amount(head.processes.length)} processes`,
		`${amount(threads.length)} threads`, `${amount(calls)} calls`, `${amount(head.arrows)} arrows`];
	if (!head.is_whole)
		parts.push("the trace is damaged or cut short: the timeline has what is before that");
	const crowded = head.left_out - head.left_out_short;
	if (head.left_out_short)
		parts.push(`left out: ${amount(head.left_out_short)} shorter than ${duration(head.least_ns)}`);
	if (crowded)
		parts.push(`left out: ${amount(crowded)} where too many lie at one time`);
	byId("sums").textContent = parts.join(" · ").replace(/\b1 (process|thread|call|arrow)(es|s)/g, "1 $1");
	["Timeline", ...head.flames.map((flame) => "Flames: " + flame.title)].forEach((title, i) => {
		const button = make("button", title);
		button.setAttribute("role", "tab");
		button.addEventListener("click", () => show(i));
		byId("tabs").append(button);
	});
	const rows = [["w s", "zoom in and out"], ["a d", "go back and on"],
		...Object.entries(keys).map(([key, [, says]]) => [key, says]),
		["Ctrl+wheel", "zoom"], ["Shift+wheel, drag", "move"], ["F2 in the search", "the finding F2"]];
	for (const [key, says] of rows)
		byId("key-list").append(make("tr", make("td", make("kbd", key)), make("td", says)));
}

function listen() {
	canvas.addEventListener("wheel", onWheel, {passive: false});
	canvas.addEventListener("pointermove", onPointerMove);
	canvas.addEventListener("pointerdown", onPointerDown);
	canvas.addEventListener("pointerup", onPointerUp);
	canvas.addEventListener("pointercancel", onPointerUp);
	canvas.addEventListener("pointerleave", () => {
		byId("tip").hidden = true;
	});
	canvas.addEventListener("dblclick", zoomToSelected);
	document.addEventListener("keydown", onKey);
	document.addEventListener("keyup", (event) => pressed.delete(event.key.toLowerCase()));
	window.addEventListener("blur", () => pressed.clear());
	byId("search").addEventListener("input", (event) => search(event.target.value));
	byId("keys").addEventListener("click", () => byId("help").showModal());
	new ResizeObserver(ask).observe(canvas);
	const again = () => {
		readTheme();
		draw();
	};
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
	matchMedia("print").addEventListener("change", again);
	window.addEventListener("hashchange", followHash);
}

function followHash() {
	const handle = /^#F([1-9]\d*)$/.exec(location.hash);
	if (handle)
		goToFinding(Number(handle[1]));
}

async function start() {
	head = JSON.parse(new TextDecoder().decode(await unpack("head")));
	prepareTracks();
	readFirst(await unpack("first"));
	readTheme();
	head.flames.forEach(prepareFlame);
	groups = groupsOfTracks();
	foldAtFirst();
	showHead();
	showFindings();
	show(0);
	view.height = canvas.clientHeight;
	layLanes();
	view.from = -head.span_ns * 0.01;
	view.to = Math.max(head.span_ns * 1.01, 20);
	draw();
	listen();
	/* The picture is shown before the rest is read. */
	await new Promise((done) => setTimeout(done, 0));
	readRest(await unpack("rest"));
	draw();
	followHash();
}

/* What tests ask. */
const fxt = {
	keep: false, frames: [], firstPicture: 0,
	picture: () => picture,
	head: () => head,
	tracks: () => tracks,
	view, look, goToFinding, search, findNext, select, argumentsOf, thingOf, draw, click, layLanes, folded,
	selected: () => selected,
	ready: null,
};
window.fxt = fxt;
fxt.ready = start().catch((error) => {
	byId("trouble").textContent = `The page cannot be shown: ${error.message}`;
	byId("trouble").hidden = false;
	throw error;
});
