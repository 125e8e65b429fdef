// SPDX-License-Identifier: BSD-2-Clause
// The call tree as a table of rows that open: from callers down to callees, or inverted, from functions up to their callers.

const treeView = { inverted: false, by: "instructions", tree: null, root: null, open: new Set(), ready: false };
const TREE_ROWS = 1000; /* rows shown at a time */

/* An inverted node: calls that end in a function, by the callers that lead there. pairs: [node, its ancestor here]. */
const newInverted = (name, row, depth) => ({ name, row, depth, pairs: [], calls: 0, instructions: 0, time: 0, list: null });

function invertedList(pairs, depth) {
	const found = new Map();
	for (const [node, at] of pairs) {
		if (!at.parent)
			continue;
		const key = nodeKey(at);
		let one = found.get(key);
		if (!one)
			found.set(key, one = newInverted(at.name, at.row, depth));
		one.pairs.push([node, at]);
		one.calls += node.calls;
		one.instructions += node.instructions;
		one.time += node.time;
	}
	return [...found.values()];
}

const treeAmount = (one) => (treeView.inverted ? one[treeView.by] : treeView.by === "time" ? one.allTime : one.allInstructions);

function treeChildren(one) {
	if (!one.list) {
		if (!treeView.inverted)
			one.list = [...one.children.values()];
		else
			one.list = invertedList(one.pairs.map(([node, at]) => [node, at.parent]).filter(([, at]) => at), one.depth + 1);
	}
	return one.list.sort((a, b) => treeAmount(b) - treeAmount(a) || b.calls - a.calls || (a.name < b.name ? -1 : 1));
}

/* Opens the hottest path, so that the view begins with what took most. */
function treeOpenHottest() {
	let list = treeView.roots;
	for (let steps = 0; steps < 30 && list.length; steps++) {
		const first = list[0], whole = treeAmount(first);
		treeView.open.add(first);
		list = treeChildren(first);
		if (!list.length || treeAmount(list[0]) < whole / 2)
			return;
	}
}

function treeStart() {
	const tree = callTree();
	if (treeView.tree === tree && treeView.isInverted === treeView.inverted && treeView.key === treeView.by)
		return;
	Object.assign(treeView, { tree, isInverted: treeView.inverted, key: treeView.by, open: new Set() });
	const list = treeView.inverted ? invertedList(tree.nodes.filter((node) => node.parent && node.parent.parent &&
		(node.instructions || node.time || node.calls)).map((node) => [node, node]), 0) : [...tree.root.children.values()];
	treeView.roots = list.sort((a, b) => treeAmount(b) - treeAmount(a) || (a.name < b.name ? -1 : 1));
	treeOpenHottest();
}

/* Rows that are visible, in order. */
function treeVisible() {
	const rows = [], waiting = treeView.roots.map((one) => [one, 0]).reverse();
	let total = 0;
	while (waiting.length) {
		const [one, depth] = waiting.pop();
		if (total++ < TREE_ROWS)
			rows.push([one, depth]);
		if (treeView.open.has(one))
			for (const child of treeChildren(one).slice().reverse())
				waiting.push([child, depth + 1]);
	}
	return { rows, total };
}

function treeToggle(one) {
	if (!treeView.open.delete(one))
		treeView.open.add(one);
	treeShow();
}

const hasChildren = (one) => (treeView.inverted ? one.pairs.some(([, at]) => at.parent && at.parent.parent) : one.children.size > 0);

function treeName(one, depth) {
	const isOpen = treeView.open.has(one), opener = hasChildren(one)
		? make("button", { type: "button", className: "opener", "aria-expanded": String(isOpen), "aria-label": "callees" }, isOpen ? "▾" : "▸")
		: make("span", { className: "opener" });
	if (hasChildren(one))
		opener.addEventListener("click", (event) => { event.stopPropagation(); treeToggle(one); });
	const cell = make("td", { className: "words code" }, opener, ...marked(one.name));
	cell.style.paddingLeft = 10 + 16 * Math.min(depth, 60) + "px";
	return cell;
}

function treeRow(one, depth, whole) {
	const amount = treeAmount(one), text = treeView.by === "time" ? duration : (value) => count(Math.round(value));
	const own = treeView.by === "time" ? one.time : one.instructions;
	const row = make("tr", { className: "link", tabIndex: 0 }, treeName(one, depth),
		make("td", { className: "dim image" }, one.row >= 0 ? baseName(functions()[one.row].image) : ""),
		make("td", { className: "number" }, one.calls ? count(one.calls) : ""),
		shareCell(amount, whole, `${text(amount)}  ${share(amount, whole)}`),
		make("td", { className: "number" }, treeView.inverted ? "" : text(own)));
	row.setAttribute("aria-level", depth + 1);
	const act = () => (one.row >= 0 ? showFunction(one.row) : hasChildren(one) && treeToggle(one));
	row.addEventListener("click", act);
	row.addEventListener("keydown", (event) => {
		const isOpen = treeView.open.has(one);
		if (event.key === "Enter") {
			act();
		} else if ((event.key === "ArrowRight" && !isOpen) || (event.key === "ArrowLeft" && isOpen)) {
			event.preventDefault();
			event.stopPropagation();
			const at = [...row.parentNode.children].indexOf(row);
			treeToggle(one);
			byId("tree-table").tBodies[0].children[at].focus();
		}
	});
	return row;
}

function treeBar() {
	const choice = (name, title, options, value, change) => {
		const field = make("select", { id: name }, ...options.map(([key, words]) => make("option", { value: key }, words)));
		field.value = value;
		field.addEventListener("change", () => change(field.value));
		return make("label", null, `${title} `, field);
	};
	return make("div", { className: "bar" },
		choice("tree-way", "rows are", [["down", "callers, with their callees"], ["up", "functions, with their callers (inverted)"]],
			treeView.inverted ? "up" : "down", (value) => { treeView.inverted = value === "up"; treeShow(); }),
		choice("tree-by", "by", [["instructions", "instructions"], ["time", "time"]], treeView.by,
			(value) => { treeView.by = value; treeShow(); }), foldBox("tree-fold"));
}

function treeShow() {
	const place = byId("view-tree");
	treeStart();
	const { root } = treeView.tree, whole = treeView.by === "time" ? root.allTime : root.allInstructions;
	const { rows, total } = treeVisible(), head = [["function"], ["image"], ["calls", 1],
		[treeView.inverted ? `own ${treeView.by}` : "with callees", 1], [treeView.inverted ? "" : "own", 1]];
	place.replaceChildren(treeBar(), make("table", { className: "wide", id: "tree-table" },
		make("thead", null, make("tr", null, ...head.map(([title, number]) => make("th", { className: number ? "number" : "" }, title)))),
		make("tbody", null, ...rows.map(([one, depth]) => treeRow(one, depth, whole)))),
		...(total > rows.length ? [make("p", { className: "dim" }, `and ${count(total - rows.length)} more rows: close some`)] : []),
		...(rows.length ? [] : [make("p", { className: "dim" }, "no call is selected")]));
}
