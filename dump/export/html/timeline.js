// SPDX-License-Identifier: BSD-2-Clause
// The timeline: calls drawn for the time and the rows that are in view, so that a million of them cost what is seen.

const timeline = {
	from: 0, to: 1, first: 0, last: 1, top: 0, rows: [], height: 0, chosen: null, ready: false, queued: false, colors: [],
	marks: { text: "", lists: new Map() },
};
const RULER = 24, HEAD = 20, ROW = 17, FOOT = 8, GRAPH = 30;

function timelineRows() {
	let y = 0;
	timeline.rows = tracks().map((track) => {
		const top = HEAD + (track.counters.length ? GRAPH : 0), isFolded = isTrackFolded(track);
		const place = { track, y, top, isFolded, height: isFolded ? HEAD : top + track.levels.length * ROW + FOOT };
		y += place.height;
		return place;
	});
	timeline.height = y;
}

function timelineOpen() {
	if (timeline.ready)
		return;
	timeline.ready = true;
	timelineRows();
	const known = tracks().filter((track) => track.count);
	timeline.first = known.reduce((least, track) => Math.min(least, track.first), Infinity);
	timeline.last = known.reduce((most, track) => Math.max(most, track.last), -Infinity);
	if (!known.length)
		timeline.first = timeline.last = 0;
	if (timeline.last <= timeline.first)
		timeline.last = timeline.first + 1;
	if (timeline.to <= timeline.from || timeline.to === 1)
		[timeline.from, timeline.to] = [timeline.first, timeline.last];
}

function timelineSet(from, to) {
	const whole = timeline.last - timeline.first, least = 10, span = Math.min(Math.max(to - from, least), whole * 1.1);
	const middle = (from + to) / 2;
	from = Math.max(timeline.first - whole * 0.05, Math.min(middle - span / 2, timeline.last + whole * 0.05 - span));
	timeline.from = from;
	timeline.to = from + span;
	timelineQueue();
	pageRemember();
}

function timelineZoom(factor, at) {
	const { from, to } = timeline, fixed = at === undefined ? (from + to) / 2 : at;
	timelineSet(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor);
}

function timelineMove(part) {
	const step = (timeline.to - timeline.from) * part;
	timelineSet(timeline.from + step, timeline.to + step);
}

function timelineScroll(pixels) {
	const room = byId("time-canvas").clientHeight - RULER;
	timeline.top = Math.max(0, Math.min(timeline.top + pixels, Math.max(0, timeline.height - room)));
	timelineQueue();
}

function timelineQueue() {
	if (timeline.queued)
		return;
	timeline.queued = true;
	requestAnimationFrame(() => {
		timeline.queued = false;
		timelineDraw();
	});
}

/* ---- drawing ---------------------------------------------------------------------------------------- */

function timelineColor(row, dark) {
	const key = row * 2 + (dark ? 1 : 0);
	let color = timeline.colors[key];
	if (!color)
		color = timeline.colors[key] = row ? colorOf(callName(row), dark) : dark ? "#444" : "#bbb";
	return color;
}

/* A step of 1, 2 or 5 of a power of ten that leaves room for its words. */
function rulerStep(span, width) {
	const wanted = span / Math.max(1, width / 130), power = 10 ** Math.floor(Math.log10(wanted));
	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted) || power * 10;
}

/* Lines of time below all, and their words above. */
function drawRuler(view, words) {
	const { context, width, height, colors } = view, { from, to } = timeline;
	const step = rulerStep(to - from, width), scale = width / (to - from);
	const digits = Math.max(0, Math.ceil(-Math.log10(step / 1e6)));
	context.fillStyle = words ? colors.panel : colors.line;
	if (words)
		context.fillRect(0, 0, width, RULER - 2);
	for (let time = Math.ceil(from / step) * step; time < to; time += step) {
		const x = Math.round((time - from) * scale);
		context.fillStyle = colors.line;
		context.fillRect(x, 0, 1, words ? RULER - 2 : height);
		context.fillStyle = colors.dim;
		if (words)
			context.fillText((time / 1e6).toFixed(Math.min(6, digits)) + " ms", x + 4, 14);
	}
}

/* Calls narrower than a pixel share one: what begins in the same pixel is passed over by a search, not one by one. */
function drawLevel(view, level, y) {
	const { context, width, dark } = view, { from, to } = timeline, scale = width / (to - from), pixel = 1 / scale;
	const faint = search.text !== "";
	let at = firstAt(level, from), drawn = 0;
	while (at < level.count && level.start[at] < to) {
		const left = Math.max(0, (level.start[at] - from) * scale);
		const right = Math.min(width, (level.end[at] - from) * scale);
		context.fillStyle = faint ? view.colors.faint : timelineColor(level.name[at], dark);
		drawn++;
		if (right - left >= 1.5) {
			context.fillRect(left, y, Math.max(1, right - left - 0.5), ROW - 1);
			if (right - left > 28)
				view.labels.push([level.name[at], left, right, y]);
			at++;
			continue;
		}
		context.fillRect(left, y, 1, ROW - 1);
		at = Math.max(at + 1, lowerBound(level.end, from + (Math.floor(left) + 1) * pixel, at + 1, level.count));
	}
	return drawn;
}

/* The calls of a level that are searched for, by their index. */
function markedCalls(level) {
	if (timeline.marks.text !== search.text) {
		timeline.marks.text = search.text;
		timeline.marks.lists = new Map();
	}
	let list = timeline.marks.lists.get(level);
	if (!list) {
		list = [];
		for (let i = 0; i < level.count; i++)
			if (search.functions.has(level.name[i] - 1))
				list.push(i);
		timeline.marks.lists.set(level, list);
	}
	return list;
}

function drawMarks(view, level, y) {
	const { context, width } = view, { from, to } = timeline, scale = width / (to - from);
	let last = -2;
	context.fillStyle = view.colors.mark;
	for (const at of markedCalls(level)) {
		if (level.start[at] >= to)
			break;
		const left = Math.max(0, (level.start[at] - from) * scale), right = Math.min(width, (level.end[at] - from) * scale);
		if (level.end[at] < from || (right - left < 1 && left < last + 1))
			continue;
		last = left;
		context.fillRect(left, y, Math.max(1.5, right - left - 0.5), ROW - 1);
		if (right - left > 28)
			view.labels.push([level.name[at], left, right, y]);
	}
}

function drawLabels(view) {
	const { context } = view;
	context.fillStyle = view.colors.text;
	for (const [row, left, right, y] of view.labels) {
		const room = Math.floor((right - left - 6) / 6.3), name = callName(row);
		const words = name.length > room ? (room > 3 ? name.slice(0, room - 1) + "…" : "") : name;
		if (words)
			context.fillText(words, left + 3, y + 12, right - left - 5);
	}
}

function drawGaps(view, track, y, height) {
	const { context, width } = view, { from, to } = timeline, scale = width / (to - from);
	for (const gap of track.gaps) {
		const left = (gap.time - from) * scale, right = (gap.time + gap.duration - from) * scale;
		if (right < 0 || left > width)
			continue;
		context.fillStyle = view.colors.gap;
		context.fillRect(left, y, Math.max(2, right - left), height);
	}
}

/* Where an event stands: a mark below the title of its thread. */
function eventPlace(view, { event, track }) {
	const scale = view.width / (timeline.to - timeline.from);
	return [(event.time - timeline.from) * scale, RULER + timeline.rows[track.number].y - timeline.top + HEAD];
}

const isVisible = (view, [x, y]) => x >= -1 && x <= view.width + 1 && y > RULER && y < view.height;

/* Marks that would be at the same place are one. */
function drawEvents(view) {
	const { context } = view;
	let drawn = 0, before = "";
	context.fillStyle = view.colors.text;
	for (const one of eventTracks()) {
		const place = eventPlace(view, one), [x, y] = place, key = `${Math.round(x)} ${y}`;
		if (!isVisible(view, place) || key === before)
			continue;
		before = key;
		context.fillRect(x - 1, y - 5, 2, 5);
		drawn++;
	}
	return drawn;
}

/* A line from event to event of an activity. */
function drawFlows(view) {
	const { context } = view;
	let drawn = 0;
	context.strokeStyle = view.colors.flow;
	context.beginPath();
	for (const [from, to] of eventFlows()) {
		const first = eventPlace(view, from), second = eventPlace(view, to);
		if (!isVisible(view, first) && !isVisible(view, second))
			continue;
		context.moveTo(first[0], Math.max(first[1], RULER));
		context.lineTo(second[0], Math.max(second[1], RULER));
		drawn++;
	}
	context.stroke();
	return drawn;
}

/* The largest rate of the spans that begin in a pixel, from `at` on, and the first span behind them. */
function largestAt(list, at, end) {
	let largest = list[at++];
	for (; at < end; at++)
		largest = Math.max(largest, list[at]);
	return largest;
}

/* Instructions as areas, and bytes of Intel PT as a line above them, each as high as the most of the thread. */
function drawCounters(view, track, y) {
	const { context, width } = view, { from, to } = timeline, scale = width / (to - from), room = GRAPH - 6;
	if (y + GRAPH < RULER || y > view.height)
		return;
	for (const one of track.counters) {
		const total = one.instructions.length, spanOf = (time) => Math.floor((time - one.start) / one.span);
		let at = Math.max(0, Math.min(total, spanOf(from)));
		context.strokeStyle = view.colors.packets;
		context.fillStyle = view.colors.instructions;
		context.beginPath();
		while (at < total && one.start + at * one.span < to) {
			const left = (one.start + at * one.span - from) * scale;
			const next = Math.min(total, Math.max(at + 1, spanOf(from + (left + 1) / scale)));
			const right = (one.start + next * one.span - from) * scale;
			const high = largestAt(one.instructions, at, next) / (one.mostInstructions || 1) * room;
			const line = y + GRAPH - 3 - largestAt(one.packets, at, next) / (one.mostPackets || 1) * room;
			context.fillRect(left, y + GRAPH - 3 - high, right - left, high);
			context.moveTo(left, line);
			context.lineTo(right, line);
			at = next;
			view.graphed++;
		}
		context.stroke();
	}
}

function drawTrack(view, place) {
	const { context, width } = view, y = RULER + place.y - timeline.top;
	let drawn = 0;
	(place.isFolded ? [] : place.track.levels).forEach((level, depth) => {
		const row = y + place.top + depth * ROW;
		if (row + ROW < RULER || row > view.height)
			return;
		drawn += drawLevel(view, level, row);
		if (search.text)
			drawMarks(view, level, row);
	});
	if (place.track.counters.length && !place.isFolded)
		drawCounters(view, place.track, y + HEAD);
	if (!place.isFolded)
		drawGaps(view, place.track, y + HEAD, place.height - HEAD - FOOT);
	context.fillStyle = view.colors.panel;
	context.fillRect(0, y, width, HEAD - 2);
	context.fillStyle = view.colors.text;
	context.fillText(`${trackMarks(place)}${place.track.title}   ${count(place.track.count)} ${place.track.isCpu ? "runs" : "calls"}`, 6, y + 13);
	return drawn;
}

function drawChosen(view) {
	const chosen = timeline.chosen;
	if (!chosen || timeline.rows[chosen.track].isFolded)
		return;
	const place = timeline.rows[chosen.track], level = place.track.levels[chosen.level];
	const scale = view.width / (timeline.to - timeline.from), y = RULER + place.y - timeline.top + place.top + chosen.level * ROW;
	const left = (level.start[chosen.at] - timeline.from) * scale, right = (level.end[chosen.at] - timeline.from) * scale;
	if (y < RULER)
		return;
	view.context.strokeStyle = view.colors.text;
	view.context.lineWidth = 2;
	view.context.strokeRect(left, y, Math.max(2, right - left), ROW - 1);
	view.context.lineWidth = 1;
}

function timelineDraw() {
	const canvas = byId("time-canvas");
	if (!canvas.clientWidth)
		return;
	const began = performance.now(), view = fitCanvas(canvas);
	view.dark = isDark();
	view.labels = [];
	view.colors = {
		text: styleOf("--text"), dim: styleOf("--dim"), line: styleOf("--line"), panel: styleOf("--panel"),
		faint: view.dark ? "#3a4048" : "#d5d8dd", mark: styleOf("--mark"),
		flow: view.dark ? "rgb(120 180 255 / .7)" : "rgb(20 80 200 / .6)",
		instructions: view.dark ? "rgb(90 160 120 / .55)" : "rgb(60 150 100 / .4)",
		packets: view.dark ? "rgb(240 190 90 / .8)" : "rgb(190 110 0 / .8)",
		gap: view.dark ? "rgb(255 120 100 / .45)" : "rgb(200 30 20 / .35)",
	};
	view.context.font = "11px system-ui, sans-serif";
	view.context.clearRect(0, 0, view.width, view.height);
	drawRuler(view, false);
	let drawn = 0;
	view.graphed = 0;
	for (const place of timeline.rows) {
		const y = RULER + place.y - timeline.top;
		if (y < view.height && y + place.height > RULER)
			drawn += drawTrack(view, place);
	}
	drawLabels(view);
	const marks = drawEvents(view), flows = drawFlows(view);
	drawChosen(view);
	drawSelection(view);
	drawRuler(view, true);
	if (!timeline.rows.length)
		view.context.fillText("No call of this trace has a time.", 20, RULER + 30);
	byId("time-range").textContent = `${moment(timeline.from)} to ${moment(timeline.to)}: ${duration(timeline.to - timeline.from)}`;
	Object.assign(canvas.dataset, { drawn, marks, flows, graphed: view.graphed, from: timeline.from, to: timeline.to, took: performance.now() - began });
}

/* ---- pointing and choosing -------------------------------------------------------------------------- */

const timelineTime = (x) => timeline.from + x / byId("time-canvas").clientWidth * (timeline.to - timeline.from);

function timelineAt(x, y) {
	const inside = y - RULER + timeline.top;
	const place = y > RULER && timeline.rows.find((row) => inside >= row.y && inside < row.y + row.height);
	if (!place)
		return null;
	const level = Math.floor((inside - place.y - place.top) / ROW);
	if (place.isFolded || level < 0 || level >= place.track.levels.length)
		return null;
	const near = (timeline.to - timeline.from) / byId("time-canvas").clientWidth;
	const at = callAt(place.track.levels[level], timelineTime(x), near);
	return at < 0 ? null : { track: place.track.number, level, at };
}

/* What the counters of a thread say there. */
function countersAt(x, y) {
	const inside = y - RULER + timeline.top, time = timelineTime(x);
	const place = timeline.rows.find((one) => !one.isFolded && inside >= one.y + HEAD && inside < one.y + one.top);
	const one = place && y > RULER ? place.track.counters.find((each) => time >= each.start &&
		time < each.start + each.instructions.length * each.span) : null;
	if (!one)
		return null;
	const at = Math.floor((time - one.start) / one.span), few = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
	return [`${few(one.instructions[at])} instructions/µs`, `${few(one.packets[at])} PT bytes/ms`,
		`of ${duration(one.span)} at ${moment(one.start + at * one.span)}`, place.track.title];
}

/* The event whose mark is there. */
function eventAt(x, y) {
	const canvas = byId("time-canvas"), view = { width: canvas.clientWidth };
	return eventTracks().find((one) => {
		const [left, bottom] = eventPlace(view, one);
		return Math.abs(left - x) <= 3 && y <= bottom && y >= bottom - 7;
	});
}

const describeEvent = ({ event, track }) => [event.name, event.text.slice(0, 300), `at ${moment(event.time)}`, track.title];

function describeCall({ track, level, at }) {
	const list = tracks()[track].levels[level], marks = marksOf(list.flags[at]);
	if (tracks()[track].isCpu)
		return [callName(list.name[at]), duration(list.end[at] - list.start[at]), `at ${moment(list.start[at])}`, tracks()[track].title];
	return [callName(list.name[at]), `${duration(list.end[at] - list.start[at])}, ${count(list.instructions[at])} instructions`,
		`at ${moment(list.start[at])}, ${level + 1} deep`, tracks()[track].title, ...(marks ? [marks] : [])];
}

function timelineChoose(call) {
	timeline.chosen = call;
	const words = call ? describeCall(call) : [], place = byId("time-detail");
	place.replaceChildren();
	if (call) {
		const row = tracks()[call.track].levels[call.level].name[call.at];
		const more = make("button", { type: "button" }, "function");
		more.addEventListener("click", () => showFunction(row - 1));
		place.append(make("b", null, words[0]), "  " + words.slice(1).join("  ·  ") + "  ", ...(isFunction(row) ? [more] : []));
	}
	timelineQueue();
	pageRemember();
}

/* A call in view, with as much around it. */
function timelineShow(call) {
	timelineUnfold(tracks()[call.track]);
	const list = tracks()[call.track].levels[call.level], place = timeline.rows[call.track];
	const start = list.start[call.at], end = list.end[call.at], room = Math.max(20, (end - start) * 0.6);
	timelineSet(start - room, end + room);
	const y = place.y + place.top + call.level * ROW, height = byId("time-canvas").clientHeight - RULER;
	if (y < timeline.top || y + ROW > timeline.top + height)
		timelineScroll(y - timeline.top - height / 3);
	timelineChoose(call);
}

/* The longest call of a function; null where none is in the page. */
function longestCall(row) {
	let best = null, longest = -1;
	for (const track of tracks())
		track.levels.forEach((list, level) => {
			for (let at = 0; at < list.count; at++)
				if (list.name[at] === row + 1 && list.end[at] - list.start[at] > longest) {
					longest = list.end[at] - list.start[at];
					best = { track: track.number, level, at };
				}
		});
	return best;
}

/* The call that is searched for next to the chosen one, in time. */
function nextMatch(forward) {
	const chosen = timeline.chosen;
	const now = chosen ? tracks()[chosen.track].levels[chosen.level].start[chosen.at] : forward ? timeline.first - 1 : timeline.last + 1;
	let best = null, nearest = Infinity;
	for (const track of tracks())
		track.levels.forEach((list, level) => {
			for (const at of markedCalls(list)) {
				const away = forward ? list.start[at] - now : now - list.start[at];
				if (away > 0 && away < nearest) {
					nearest = away;
					best = { track: track.number, level, at };
				}
			}
		});
	if (best)
		timelineShow(best);
}

function timelineListen() {
	const canvas = byId("time-canvas");
	let drag = null;
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.ctrlKey || event.metaKey)
			timelineZoom(event.deltaY > 0 ? 1.25 : 0.8, timelineTime(event.offsetX));
		else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			timelineMove((event.deltaX || event.deltaY) / 1000);
		else
			timelineScroll(event.deltaY);
	}, { passive: false });
	canvas.addEventListener("pointerdown", (event) => {
		drag = { x: event.offsetX, y: event.offsetY, moved: false, from: event.shiftKey ? timelineTime(event.offsetX) : null };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!drag) {
			const call = timelineAt(event.offsetX, event.offsetY);
			const mark = call ? null : eventAt(event.offsetX, event.offsetY);
			showTip(event, call ? describeCall(call) : mark ? describeEvent(mark) : countersAt(event.offsetX, event.offsetY));
			return;
		}
		const x = event.offsetX - drag.x, y = event.offsetY - drag.y;
		if (!drag.moved && Math.hypot(x, y) < 4)
			return;
		showTip(event, null);
		if (drag.from !== null) {
			drag.moved = true;
			timelineMark(drag.from, timelineTime(event.offsetX));
			return;
		}
		timelineMove(-x / canvas.clientWidth);
		timelineScroll(-y);
		drag = { x: event.offsetX, y: event.offsetY, moved: true, from: null };
	});
	canvas.addEventListener("pointerup", (event) => {
		if (drag && drag.from !== null && drag.moved)
			timelineMarked();
		else if (drag && !drag.moved && !trackClick(event.offsetX, event.offsetY))
			timelineChoose(timelineAt(event.offsetX, event.offsetY));
		drag = null;
	});
	canvas.addEventListener("pointerleave", (event) => showTip(event, null));
	canvas.addEventListener("dblclick", (event) => {
		const call = timelineAt(event.offsetX, event.offsetY);
		if (call)
			timelineShow(call);
	});
	byId("time-in").addEventListener("click", () => timelineZoom(0.5));
	byId("time-out").addEventListener("click", () => timelineZoom(2));
	byId("time-all").addEventListener("click", () => timelineSet(timeline.first, timeline.last));
	byId("time-select").addEventListener("click", () => selectSpan(timeline.from, timeline.to));
	byId("time-fold").addEventListener("click", () => foldTracks(true));
	byId("time-unfold").addEventListener("click", () => foldTracks(false));
}

const timelineKeys = {
	w: () => timelineZoom(0.7), "+": () => timelineZoom(0.7), "=": () => timelineZoom(0.7),
	s: () => timelineZoom(1 / 0.7), "-": () => timelineZoom(1 / 0.7),
	a: () => timelineMove(-0.2), ArrowLeft: () => timelineMove(-0.2),
	d: () => timelineMove(0.2), ArrowRight: () => timelineMove(0.2),
	ArrowUp: () => timelineScroll(-60), ArrowDown: () => timelineScroll(60),
	PageUp: () => timelineScroll(-400), PageDown: () => timelineScroll(400),
	0: () => timelineSet(timeline.first, timeline.last), Home: () => timelineSet(timeline.first, timeline.last),
	f: () => timeline.chosen && timelineShow(timeline.chosen),
	m: () => selectSpan(timeline.from, timeline.to),
	n: () => nextMatch(true), p: () => nextMatch(false),
	Enter: () => {
		const chosen = timeline.chosen, row = chosen && tracks()[chosen.track].levels[chosen.level].name[chosen.at];
		if (isFunction(row))
			showFunction(row - 1);
	},
	Escape: () => timelineChoose(null),
};
