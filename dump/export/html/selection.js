// SPDX-License-Identifier: BSD-2-Clause
// What is selected: a span of time, threads, and whether libraries of the system are folded. All sums follow.

function selectionWords() {
	const words = [];
	if (selection.name)
		words.push(selection.name);
	else if (selection.threads.size)
		words.push(selection.threads.size === 1 ? "1 thread" : `${count(selection.threads.size)} threads`);
	if (selection.from !== null)
		words.push(`${moment(selection.from)} to ${moment(selection.to)}: ${duration(selection.to - selection.from)}`);
	return words.join(", ");
}

/* "Selected: 1 thread, 3 ms: 7 calls, 200 instructions. Most: f 40 %". */
function selectionSums() {
	const tree = callTree(), { root } = tree, list = [...functionSums(tree).values()];
	const calls = list.reduce((sum, one) => sum + one.calls, 0), about = tree.isExact ? "" : "about ";
	const by = root.allInstructions ? "instructions" : "time", whole = by === "time" ? root.allTime : root.allInstructions;
	const most = list.sort((a, b) => b[by] - a[by]).slice(0, 3).filter((one) => one[by] > 0)
		.map((one) => `${one.name} ${share(one[by], whole)}`);
	return `${count(calls)} calls, ${about}${count(Math.round(root.allInstructions))} instructions, ${duration(root.allTime)} in calls` +
		(most.length ? `. Most: ${most.join(", ")}` : "");
}

function selectionShow() {
	const place = byId("selection");
	place.hidden = !isSelected();
	if (place.hidden) {
		place.replaceChildren();
		return;
	}
	const act = (words, action) => {
		const button = make("button", { type: "button" }, words);
		button.addEventListener("click", action);
		return button;
	};
	place.replaceChildren(make("b", null, "Selected: "), selectionWords(), make("span", { id: "selection-sums" }, ` · ${selectionSums()} `),
		act("functions", () => showView("functions")), " ", act("call tree", () => showView("tree")), " ",
		act("timeline", () => { showView("timeline"); timelineShowSelection(); }), " ", act("clear", selectionClear));
}

/* All views that show sums are made anew. */
function selectionChanged() {
	tables.functions = null;
	if (timeline.ready) {
		timelineRows();
		timelineScroll(0);
	}
	selectionShow();
	views.find(([view]) => view === page.view)[2]();
	pageRemember();
}

function selectionClear() {
	Object.assign(selection, { from: null, to: null, threads: new Set(), name: "" });
	selectionChanged();
}

function selectSpan(from, to) {
	const span = to > from;
	Object.assign(selection, { from: span ? from : null, to: span ? to : null });
	selectionChanged();
}

function selectThread(track) {
	const key = threadKey(track);
	selection.name = "";
	if (!selection.threads.delete(key))
		selection.threads.add(key);
	selectionChanged();
}

/* A process number may be used again: then the time of the process counts, too. */
function selectProcess(one) {
	const again = sideData("processes").filter((other) => other.pid === one.pid).length > 1;
	selection.threads = new Set(tracks().filter((track) => !track.isCpu && track.pid === one.pid).map(threadKey));
	selection.name = `${baseName(one.path || "") || one.name || "process"} (${one.pid})`;
	selection.from = again ? one.start || 0 : null;
	selection.to = again ? (one.end === null ? timeline.last : one.end) : null;
	if (!selection.threads.size)
		selection.threads.add(threadKey({ pid: one.pid }));
}

function showProcess(one) {
	timelineOpen();
	selectProcess(one);
	chosenFunction.row = null;
	showView("functions");
	selectionChanged();
}

function foldBox(id) {
	const field = make("input", { type: "checkbox", id, checked: selection.fold });
	field.addEventListener("change", () => {
		selection.fold = field.checked;
		selectionChanged();
	});
	return make("label", null, field, " fold libraries of the system");
}

/* "5-900" and "7/7/,7/8/" of a link. */
function selectionFollow(link) {
	const [from, to] = (link.get("span") || "").split("-").map(Number), threads = link.get("threads");
	Object.assign(selection, { from: to > from ? from : null, to: to > from ? to : null, name: "", fold: link.get("fold") === "1",
		threads: new Set(threads ? threads.split(",") : []) });
	tables.functions = null;
	selectionShow();
}

function selectionLink(link) {
	if (selection.from !== null)
		link.set("span", `${Math.round(selection.from)}-${Math.round(selection.to)}`);
	if (selection.threads.size)
		link.set("threads", [...selection.threads].join(","));
	if (selection.fold)
		link.set("fold", "1");
}
