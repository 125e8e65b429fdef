// SPDX-License-Identifier: BSD-2-Clause
// The calls over time: read from packed numbers, and found by time and place. Levels of nesting are rows.

/* Numbers of 7 bits a byte, the lowest first: columns of as many rows. */
function unpackNumbers(text, columns, rows) {
	const bytesOf = atob(text), size = bytesOf.length, packed = new Uint8Array(size);
	for (let i = 0; i < size; i++)
		packed[i] = bytesOf.charCodeAt(i);
	const all = Array.from({ length: columns }, () => new Float64Array(rows));
	for (let i = 0, at = 0; i < rows; i++)
		for (let column = 0; column < columns; column++) {
			let byte = packed[at++], value = byte & 127, scale = 128;
			while (byte > 127) {
				byte = packed[at++];
				value += (byte & 127) * scale;
				scale *= 128;
			}
			all[column][i] = value;
		}
	return all;
}

function unpackTrack(track) {
	const [start, end, level, name, flags, instructions] = unpackNumbers(track.data, 6, track.count);
	for (let i = 0, time = 0; i < track.count; i++) {
		time += start[i];
		start[i] = time;
		end[i] += time;
	}
	return { start, end, level, name, flags, instructions };
}

/*
 * One list for each level, in order of time: calls of one level do not overlap. order: the level of each call, in the order in
 * which the calls began, a caller before its callees.
 */
function splitLevels(all) {
	const total = all.start.length, sizes = [], order = new Uint32Array(total);
	for (let i = 0; i < total; i++)
		sizes[all.level[i]] = (sizes[all.level[i]] || 0) + 1;
	const levels = Array.from(sizes, (size) => ({
		count: 0, start: new Float64Array(size || 0), end: new Float64Array(size || 0), name: new Uint32Array(size || 0),
		flags: new Uint16Array(size || 0), instructions: new Float64Array(size || 0),
	}));
	for (let i = 0; i < total; i++) {
		const level = levels[all.level[i]], at = level.count++;
		level.start[at] = all.start[i];
		level.end[at] = all.end[i];
		level.name[at] = all.name[i];
		level.flags[at] = all.flags[i];
		level.instructions[at] = all.instructions[i];
		order[i] = all.level[i];
	}
	return { levels, order };
}

function trackTitle(track) {
	const words = [track.process || "process"];
	if (track.pid !== undefined)
		words.push(`(${track.pid})`);
	if (track.thread && track.thread !== track.process)
		words.push(track.thread);
	if (track.tid !== undefined && track.tid !== track.pid)
		words.push(`thread ${track.tid}`);
	if (track.cpu !== undefined)
		words.push(`CPU ${track.cpu}`);
	if (track.stack)
		words.push(`stack ${track.stack}`);
	return words.join(" ");
}

/* What a CPU ran, as a track of one level, whose names have numbers behind those of functions. */
function cpuTrack({ cpu, count: total, data: packed }) {
	const all = unpackNumbers(packed, 3, total);
	const level = { count: total, start: all[0], end: all[1], name: new Uint32Array(total), flags: new Uint16Array(total),
		instructions: new Float64Array(total) };
	let time = 0;
	for (let i = 0; i < total; i++) {
		time += all[0][i];
		level.start[i] = time;
		level.end[i] = time + all[1][i];
		level.name[i] = functions().length + 1 + all[2][i];
	}
	return { title: `CPU ${cpu}`, isCpu: true, count: total, levels: [level], first: level.start[0], last: level.end[total - 1],
		gaps: [], counters: [] };
}

/* What a thread did over time: amounts of equal spans, as rates. */
function unpackCounters({ start, span, count: total, data: packed }) {
	const [instructions, packets] = unpackNumbers(packed, 2, total);
	const rates = (list, unit) => list.map((amount) => amount * unit / span);
	const counters = { start, span, instructions: rates(instructions, 1e3), packets: rates(packets, 1e6) };
	const most = (list) => list.reduce((largest, value) => Math.max(largest, value), 0);
	return { ...counters, mostInstructions: most(counters.instructions), mostPackets: most(counters.packets) };
}

let timelineTracks = null;
function tracks() {
	if (timelineTracks)
		return timelineTracks;
	const { tracks: list, gaps, cpus, counters } = sideData("timeline");
	const isOf = (one, track) => one.pid === track.pid && one.tid === track.tid && one.cpu === track.cpu;
	const threads = list.map((track) => {
		const all = unpackTrack(track), { levels, order } = splitLevels(all);
		track.data = null;
		return {
			title: trackTitle(track), stack: track.stack, pid: track.pid, tid: track.tid, cpu: track.cpu, process: track.process,
			count: track.count, levels, order, first: all.start[0], last: all.end.reduce((most, end) => Math.max(most, end), 0),
			gaps: gaps.filter((gap) => gap.time !== null && isOf(gap, track)),
			/* Of the thread, which may have several stacks: above the first. */
			counters: track.stack ? [] : counters.filter((one) => isOf(one, track)).map(unpackCounters),
		};
	});
	timelineTracks = [...cpus.map(cpuTrack), ...threads];
	timelineTracks.forEach((track, number) => { track.number = number; });
	return timelineTracks;
}

/* The first index in an ordered list of which the value is at least x, from `low` on. */
function lowerBound(list, x, low, high) {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (list[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first call of a level that ends after a time. */
const firstAt = (level, time) => lowerBound(level.end, time, 0, level.count);

/* The call of a level at a time, or next to it; -1. */
function callAt(level, time, near) {
	const at = firstAt(level, time - near);
	return at < level.count && level.start[at] <= time + near ? at : -1;
}

const isFunction = (row) => row > 0 && row <= functions().length;
const callName = (row) => (isFunction(row) ? functions()[row - 1].name
	: row ? sideData("timeline").running[row - 1 - functions().length] : "[function that is left out]");

/* Events with a time by their track: those of a thread that has no calls in the page are in the list of events alone. */
let timelineEvents = null;
function eventTracks() {
	if (timelineEvents)
		return timelineEvents;
	const of = new Map(tracks().filter((track) => !track.isCpu && !track.stack).map((track) => [`${track.pid}/${track.tid}`, track]));
	timelineEvents = events().map((event) => ({ event, track: of.get(`${event.pid === null ? undefined : event.pid}/` +
		`${event.tid === null ? undefined : event.tid}`) })).filter(({ event, track }) => track && event.time !== null);
	return timelineEvents;
}

/* Pairs of events that follow each other in an activity. */
let timelineFlows = null;
function eventFlows() {
	if (timelineFlows)
		return timelineFlows;
	const last = new Map();
	timelineFlows = [];
	for (const one of [...eventTracks()].sort((a, b) => a.event.time - b.event.time)) {
		const { activity } = one.event;
		if (activity === undefined)
			continue;
		if (last.has(activity))
			timelineFlows.push([last.get(activity), one]);
		last.set(activity, one);
	}
	return timelineFlows;
}

const callMarks = [
	[0x1, "inferred"], [0x2, "tail call"], [0x4, "signal"], [0x8, "kernel"], [0x10, "not traced"], [0x20, "own stack"],
	[0x40, "unwound"], [0x80, "unfinished"], [0x100, "lost in a gap"], [0x200, "stack guessed"],
];
const marksOf = (flags) => callMarks.filter(([bit]) => flags & bit).map(([, words]) => words).join(", ");
