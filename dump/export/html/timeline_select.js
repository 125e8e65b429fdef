// SPDX-License-Identifier: BSD-2-Clause
// Folding of the timeline's rows, and selecting a span of time and threads in the timeline.

const FOLD_RIGHT = 20, SELECT_RIGHT = 40; /* right ends of the marks in a row's title, in pixels */
const foldedTracks = new Map(); /* by key: whether the user folded the row */
let markedSpan = null; /* [from, to] while the pointer selects a span */

/* A thread that is not selected is folded, unless the user opens it. */
function isTrackFolded(track) {
	const key = track.isCpu ? track.title : threadKey(track);
	return foldedTracks.has(key) ? foldedTracks.get(key) : !track.isCpu && !isThreadSelected(track);
}

function foldTrack(track, isFolded) {
	foldedTracks.set(track.isCpu ? track.title : threadKey(track), isFolded);
	timelineRows();
	timelineScroll(0);
}

function foldTracks(isFolded) {
	tracks().forEach((track) => foldedTracks.set(track.isCpu ? track.title : threadKey(track), isFolded));
	timelineRows();
	timelineScroll(0);
}

function timelineUnfold(track) {
	if (isTrackFolded(track))
		foldTrack(track, false);
}

/* Marks in front of a title: whether the row is folded, and whether its thread is selected. */
const trackMarks = ({ track, isFolded }) => (isFolded ? "▸ " : "▾ ") +
	(track.isCpu ? "" : selection.threads.has(threadKey(track)) ? "☑ " : "☐ ");

/* A click on a title: the box selects the thread, the rest of the title folds the row. Returns false beside titles. */
function trackClick(x, y) {
	const inside = y - RULER + timeline.top;
	const place = y > RULER && timeline.rows.find((one) => inside >= one.y && inside < one.y + HEAD);
	if (!place)
		return false;
	if (!place.track.isCpu && x >= FOLD_RIGHT && x < SELECT_RIGHT)
		selectThread(place.track);
	else
		foldTrack(place.track, !place.isFolded);
	return true;
}

function timelineMark(from, to) {
	markedSpan = [Math.min(from, to), Math.max(from, to)];
	timelineQueue();
}

function timelineMarked() {
	const [from, to] = markedSpan;
	markedSpan = null;
	selectSpan(from, to);
}

/* All but the selected span is shaded. */
function drawSelection(view) {
	const [from, to] = markedSpan || [selection.from, selection.to], scale = view.width / (timeline.to - timeline.from);
	if (from === null)
		return;
	const left = Math.max(0, Math.min(view.width, (from - timeline.from) * scale));
	const right = Math.max(0, Math.min(view.width, (to - timeline.from) * scale));
	view.context.fillStyle = view.dark ? "rgb(0 0 0 / .5)" : "rgb(90 100 115 / .25)";
	view.context.fillRect(0, RULER, left, view.height);
	view.context.fillRect(right, RULER, view.width - right, view.height);
}

function timelineShowSelection() {
	foldedTracks.clear();
	timelineRows();
	timeline.top = 0;
	const chosen = tracks().filter((track) => !track.isCpu && track.count && isThreadSelected(track));
	const [from, to] = selection.from !== null ? [selection.from, selection.to] : [Math.min(...chosen.map((track) => track.first)),
		Math.max(...chosen.map((track) => track.last))];
	if (to > from)
		timelineSet(from - (to - from) * 0.05, to + (to - from) * 0.05);
	timelineQueue();
}
