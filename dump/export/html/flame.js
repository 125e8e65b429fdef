// SPDX-License-Identifier: BSD-2-Clause
// The flame graph: a tree of paths, each as wide as what it took; two trees of two traces have colours that say what changed, and
// widths of one of them.

const flame = { ready: false, by: "instructions", root: null, zoom: null, boxes: [], queued: false, chosen: null };
const FLAME_ROW = 18;

/* Rows of [parent, name or its number, calls, instructions, time]; nodes of both traces are joined by their names. */
function flameAdd(root, rows, side) {
	const names = [], nodes = [root];
	for (const [above, words, calls, instructions, time] of rows) {
		const name = typeof words === "number" ? names[words] : words;
		if (typeof words !== "number")
			names.push(words);
		const parent = nodes[above];
		let node = parent.children.get(name);
		if (!node) {
			node = { name, parent, depth: parent.depth + 1, children: new Map(), calls: [0, 0],
				instructions: [0, 0], time: [0, 0] };
			parent.children.set(name, node);
		}
		node.calls[side] += calls;
		nodes.push(node);
		for (let up = node; up; up = up.parent) {
			up.instructions[side] += instructions;
			up.time[side] += time;
		}
	}
}

function flameOpen() {
	if (flame.ready)
		return;
	flame.ready = true;
	flame.root = { name: "all", parent: null, depth: 0, children: new Map(), calls: [0, 0], instructions: [0, 0], time: [0, 0] };
	flameAdd(flame.root, data("paths"), 0);
	if (data("paths-2"))
		flameAdd(flame.root, data("paths-2"), 1);
	flame.two = data("paths-2") !== null;
	flame.side = flame.two ? 1 : 0;
	byId("flame-widths").hidden = !flame.two;
	flame.zoom = flame.root;
	byId("flame-by").querySelector("[value=time]").disabled = !flame.root.time[flame.side];
}

const flameValue = (node) => node[flame.by][flame.side];

/* Of two traces: from blue, less than before, to red, more. */
function flameColor(node, dark) {
	if (!flame.two)
		return node.depth ? colorOf(node.name, dark) : dark ? "#333a44" : "#dfe3e8";
	const whole = flame.root[flame.by], before = whole[0] ? node[flame.by][0] / whole[0] : 0;
	const after = whole[1] ? node[flame.by][1] / whole[1] : 0, larger = Math.max(before, after);
	const change = larger ? (after - before) / larger : 0, strength = Math.min(1, Math.abs(change));
	return `hsl(${change < 0 ? 212 : 6} ${Math.round(75 * strength)}% ${dark ? 30 + 12 * strength : 92 - 26 * strength}%)`;
}

function flameQueue() {
	if (flame.queued)
		return;
	flame.queued = true;
	requestAnimationFrame(() => {
		flame.queued = false;
		flameDraw();
	});
}

function flameBox(view, node, left, width, row) {
	const y = row * FLAME_ROW, { context } = view;
	flame.boxes.push({ node, left, right: left + width, y });
	const found = search.text && matches(node.name);
	context.fillStyle = found ? view.mark : search.text ? view.faint : flameColor(node, view.dark);
	context.fillRect(left, y, Math.max(0.5, width - 0.6), FLAME_ROW - 1);
	const room = Math.floor((width - 8) / 6.4);
	if (room > 2) {
		context.fillStyle = view.text;
		context.fillText(node.name.length > room ? node.name.slice(0, room - 1) + "…" : node.name, left + 4, y + 13,
			width - 6);
	}
}

/* From the top down: those above the one that is looked at have the whole width. Without recursion. */
function flameDraw() {
	const canvas = byId("flame-canvas");
	if (!canvas.clientWidth)
		return;
	const view = fitCanvas(canvas), above = [];
	Object.assign(view, { dark: isDark(), mark: styleOf("--mark"), text: styleOf("--text"), faint: isDark() ? "#3a4048" : "#d5d8dd" });
	view.context.font = "11.5px system-ui, sans-serif";
	view.context.clearRect(0, 0, view.width, view.height);
	flame.boxes = [];
	for (let up = flame.zoom.parent; up; up = up.parent)
		above.unshift(up);
	above.forEach((node, row) => flameBox(view, node, 0, view.width, row));
	const waiting = [{ node: flame.zoom, left: 0, width: view.width, row: above.length }];
	while (waiting.length) {
		const { node, left, width, row } = waiting.pop(), whole = flameValue(node);
		flameBox(view, node, left, width, row);
		if (!whole || (row + 1) * FLAME_ROW > view.height)
			continue;
		let x = left;
		for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
			const part = width * flameValue(child) / whole;
			if (part >= 0.4)
				waiting.push({ node: child, left: x, width: part, row: row + 1 });
			x += part;
		}
	}
	canvas.dataset.drawn = flame.boxes.length;
	byId("flame-path").textContent = flame.zoom === flame.root ? "" : flame.zoom.name;
}

function flameZoom(node) {
	flame.zoom = node;
	flameQueue();
	const words = describePath(node);
	const row = functions().find((one) => one.name === node.name), more = make("button", { type: "button" }, "function");
	more.addEventListener("click", () => showFunction(row.number));
	byId("flame-detail").replaceChildren(make("b", null, words[0]), "  " + words.slice(1).join("  ·  ") + "  ",
		...(row && node.depth > 1 ? [more] : []));
	pageRemember();
}

function describePath(node) {
	const words = [node.name], whole = flame.root;
	for (const [measure, text] of [["instructions", count], ["time", duration]]) {
		if (!whole[measure][0] && !whole[measure][1])
			continue;
		const [before, after] = node[measure];
		words.push(flame.two
			? `${measure}: A ${text(before)} (${share(before, whole[measure][0])}), B ${text(after)} (${share(after, whole[measure][1])})`
			: `${measure}: ${text(before)} (${share(before, whole[measure][0])})`);
	}
	if (node.calls[flame.side])
		words.push(`${count(node.calls[flame.side])} call${node.calls[flame.side] === 1 ? "" : "s"}`);
	return words;
}

function flameListen() {
	const canvas = byId("flame-canvas");
	const boxAt = (event) => flame.boxes.findLast((box) => event.offsetX >= box.left && event.offsetX < box.right &&
		event.offsetY >= box.y && event.offsetY < box.y + FLAME_ROW);
	canvas.addEventListener("click", (event) => {
		const box = boxAt(event);
		if (box)
			flameZoom(box.node);
	});
	canvas.addEventListener("pointermove", (event) => {
		const box = boxAt(event);
		showTip(event, box ? describePath(box.node) : null);
	});
	canvas.addEventListener("pointerleave", (event) => showTip(event, null));
	byId("flame-by").addEventListener("change", (event) => {
		flame.by = event.target.value;
		flameQueue();
	});
	byId("flame-side").addEventListener("change", (event) => {
		flame.side = Number(event.target.value);
		byId("flame-by").querySelector("[value=time]").disabled = !flame.root.time[flame.side];
		flameZoom(flame.root);
	});
	byId("flame-reset").addEventListener("click", () => flameZoom(flame.root));
}

/* Down to the widest child, up to the parent, and to the siblings. */
function flameStep(across) {
	const { zoom } = flame;
	if (!zoom.parent)
		return;
	const list = [...zoom.parent.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), at = list.indexOf(zoom) + across;
	if (list[at])
		flameZoom(list[at]);
}
const flameKeys = {
	ArrowUp: () => flame.zoom.parent && flameZoom(flame.zoom.parent),
	ArrowDown: () => {
		const list = [...flame.zoom.children.values()].sort((a, b) => flameValue(b) - flameValue(a));
		if (list.length)
			flameZoom(list[0]);
	},
	ArrowLeft: () => flameStep(-1), ArrowRight: () => flameStep(1), 0: () => flameZoom(flame.root),
	Escape: () => flameZoom(flame.root),
};
