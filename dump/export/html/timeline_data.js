// SPDX-License-Identifier: BSD-2-Clause
// The calls over time: read from packed numbers, and found by time and place. Levels of nesting are rows.

/* Differences of 7 bits a byte, the lowest first. */
function unpackTrack(track) {
	const text = atob(track.data), size = text.length;
	const packed = new Uint8Array(size);
	for (let i = 0; i < size; i++)
		packed[i] = text.charCodeAt(i);
	const total = track.count;
	const all = {
		start: new Float64Array(total), end: new Float64Array(total), level: new Uint32Array(total),
		name: new Uint32Array(total), flags: new Uint16Array(total), instructions: new Float64Array(total),
	};
	let at = 0, time = 0;
	const next = () => {
		let byte = packed[at++], value = byte & 127, scale = 128;
		while (byte > 127) {
			byte = packed[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		}
		return value;
	};
	for (let i = 0; i < total; i++) {
		time += next();
		all.start[i] = time;
		all.end[i] = time + next();
		all.level[i] = next();
		all.name[i] = next();
		all.flags[i] = next();
		all.instructions[i] = next();
	}
	return all;
}

/* One list for each level, in order of time: calls of one level do not overlap. */
function splitLevels(all) {
	const total = all.start.length, sizes = [];
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
	}
	return levels;
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

let timelineTracks = null;
function tracks() {
	if (timelineTracks)
		return timelineTracks;
	const { tracks: list, gaps } = data("timeline");
	timelineTracks = list.map((track, number) => {
		const all = unpackTrack(track);
		track.data = null;
		return {
			number, title: trackTitle(track), pid: track.pid, tid: track.tid, count: track.count,
			levels: splitLevels(all), first: all.start[0], last: all.end.reduce((most, end) => Math.max(most, end), 0),
			gaps: gaps.filter((gap) => gap.time !== null && gap.pid === track.pid && gap.tid === track.tid &&
				gap.cpu === track.cpu),
		};
	});
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

const callName = (row) => (row ? functions()[row - 1].name : "[function that is left out]");

const callMarks = [
	[0x1, "inferred"], [0x2, "tail call"], [0x4, "signal"], [0x8, "kernel"], [0x10, "not traced"], [0x20, "own stack"],
	[0x40, "unwound"], [0x80, "unfinished"], [0x100, "lost in a gap"],
];
const marksOf = (flags) => callMarks.filter(([bit]) => flags & bit).map(([, words]) => words).join(", ");
