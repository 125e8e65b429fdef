// SPDX-License-Identifier: BSD-2-Clause
// Sums of calls: trees of callers and callees, of the whole trace or of a selected span and of selected threads.

/* from and to: nanoseconds, null for the whole time. threads: keys of selected threads, empty for all threads. */
const selection = { from: null, to: null, threads: new Set(), fold: false, name: "" };
const isSelected = () => selection.from !== null || selection.threads.size > 0;
const threadKey = (one) => [one.pid, one.tid, one.cpu].map((id) => (id === undefined || id === null ? "" : id)).join("/");
const isThreadSelected = (track) => !selection.threads.size || selection.threads.has(threadKey(track));

/* Whether an image is a library of the system: the kernel's pages, and shared libraries in folders of the system. */
const isSystem = (image) => image.startsWith("[") || (/^\/(usr\/)?lib/.test(image) && /\.so(\.|$)/.test(baseName(image)));

/* With folding, all functions of a library of the system are one. */
function callLabel(row) {
	const one = row >= 0 ? functions()[row] : null;
	return one && selection.fold && isSystem(one.image) ? `[${baseName(one.image)}]` : null;
}

const newNode = (parent, row, name, isFolded) => ({ parent, row, name, isFolded, children: new Map(), calls: 0, instructions: 0,
	time: 0, allInstructions: 0, allTime: 0 });
const nodeKey = (node) => (node.row >= 0 ? node.row : node.name);

/* The node of a call. A call within a folded library is its caller's node. */
function childNode(tree, parent, row, name) {
	const label = callLabel(row);
	if (label !== null && parent.isFolded && parent.name === label)
		return parent;
	const key = label === null && row >= 0 ? row : label || name;
	let node = parent.children.get(key);
	if (!node) {
		node = newNode(parent, label === null ? row : -1, label || name, label !== null);
		parent.children.set(key, node);
		tree.nodes.push(node);
	}
	return node;
}

const newTree = () => {
	const root = newNode(null, -1, "all", false);
	return { root, nodes: [root], isExact: true };
};

/* Rows of [parent, name or its number, calls, instructions, time, row of the function from 1]. */
function addPaths(tree, rows) {
	const names = [], nodes = [tree.root];
	for (const [above, words, calls, instructions, time, row] of rows) {
		const name = typeof words === "number" ? names[words] : words, parent = nodes[above];
		if (typeof words !== "number")
			names.push(words);
		const node = childNode(tree, parent, row - 1, name);
		nodes.push(node);
		if (node !== parent)
			node.calls += calls;
		node.instructions += instructions;
		node.time += time;
	}
}

/*
 * A call that is partly in the span counts in parts: the time within the span, and as much of its own instructions as of its own
 * time.
 */
function endCall(tree, call) {
	const ownTime = call.full - call.childFull, ownInside = call.inside - call.childInside;
	const own = Math.max(0, call.instructions - call.childInstructions);
	const part = call.inside >= call.full ? 1 : ownTime > 0 ? Math.max(0, ownInside / ownTime) : call.inside / call.full;
	if (part !== 1)
		tree.isExact = false;
	call.node.instructions += own * part;
	call.node.time += Math.max(0, ownInside);
}

const INFERRED = 1; /* flag of a call that was not seen, which report does not count */

/* The calls of a track come in the order in which they began, so that a caller precedes its callees. */
function addTrack(tree, track, from, to) {
	const next = new Uint32Array(track.levels.length), stack = [];
	const base = childNode(tree, tree.root, -1, track.process || "process");
	let depth = 0;
	for (const at of track.order) {
		const list = track.levels[at], i = next[at]++, start = list.start[i], end = list.end[i], full = end - start;
		const inside = Math.min(end, to) - Math.max(start, from);
		while (depth && stack[depth - 1].level >= at)
			endCall(tree, stack[--depth]);
		if (full > 0 ? inside <= 0 : start < from || start > to)
			continue;
		const above = depth ? stack[depth - 1] : null, call = stack[depth] || (stack[depth] = {});
		const row = list.name[i] - 1, node = childNode(tree, above ? above.node : base, row, callName(list.name[i]));
		Object.assign(call, { level: at, node, full, inside, childFull: 0, childInside: 0, instructions: list.instructions[i],
			childInstructions: 0 });
		if (above) {
			above.childFull += full;
			above.childInside += inside;
			above.childInstructions += call.instructions;
		}
		if (start >= from && !(list.flags[i] & INFERRED) && (!above || node !== above.node))
			node.calls++;
		depth++;
	}
	while (depth)
		endCall(tree, stack[--depth]);
}

/* Sums of callees: a node comes behind its parent. */
function addTotals(tree) {
	for (let i = tree.nodes.length; i-- > 0;) {
		const node = tree.nodes[i];
		node.allInstructions += node.instructions;
		node.allTime += node.time;
		if (node.parent) {
			node.parent.allInstructions += node.allInstructions;
			node.parent.allTime += node.allTime;
		}
	}
	return tree;
}

/* The tree of the selection, made once. */
const callTrees = { key: null, tree: null };
function callTree() {
	const key = JSON.stringify([selection.from, selection.to, selection.fold, [...selection.threads]]);
	if (callTrees.key === key)
		return callTrees.tree;
	const tree = newTree();
	if (isSelected()) {
		const [from, to] = selection.from === null ? [-Infinity, Infinity] : [selection.from, selection.to];
		for (const track of tracks())
			if (!track.isCpu && isThreadSelected(track))
				addTrack(tree, track, from, to);
	} else {
		addPaths(tree, sideData("paths"));
	}
	callTrees.key = key;
	callTrees.tree = addTotals(tree);
	return callTrees.tree;
}

/* Walks a tree without recursion: begin(node) before the callees of a node, end(node) behind. */
function walkTree(tree, begin, end) {
	const waiting = [[tree.root, false]];
	while (waiting.length) {
		const [node, isEnd] = waiting.pop();
		if (isEnd) {
			end(node);
			continue;
		}
		begin(node);
		waiting.push([node, true]);
		for (const child of node.children.values())
			waiting.push([child, false]);
	}
}

/* Adds what a node took to a row of sums. A call within a call of the same function is part of the outer one. */
function addNode(sums, node, isOutermost) {
	sums.calls += node.calls;
	sums.instructions += node.instructions;
	sums.time += node.time;
	if (isOutermost) {
		sums.allInstructions += node.allInstructions;
		sums.allTime += node.allTime;
	}
}

const newSums = (node) => ({ row: node.row, name: node.name, calls: 0, instructions: 0, time: 0, allInstructions: 0, allTime: 0 });

/* Sums of each function, by the key of its nodes. Programs, the outermost nodes, are no functions. */
function functionSums(tree) {
	const sums = new Map(), active = new Map();
	walkTree(tree, (node) => {
		if (!node.parent || !node.parent.parent)
			return;
		const key = nodeKey(node), open = active.get(key) || 0;
		if (!sums.has(key))
			sums.set(key, newSums(node));
		addNode(sums.get(key), node, !open);
		active.set(key, open + 1);
	}, (node) => active.set(nodeKey(node), (active.get(nodeKey(node)) || 1) - 1));
	return sums;
}

/*
 * Who calls a function, and whom it calls. Amounts are those of the calls between both, with callees; of nested calls of one
 * pair, the outermost one counts.
 */
function neighbours(tree, key) {
	const callers = new Map(), callees = new Map(), active = new Map();
	const add = (list, other, node, pair) => {
		if (!list.has(nodeKey(other)))
			list.set(nodeKey(other), newSums(other));
		addNode(list.get(nodeKey(other)), node, !active.get(pair));
	};
	const pairOf = (node) => (node.parent && node.parent.parent ? `${nodeKey(node.parent)} ${nodeKey(node)}` : null);
	walkTree(tree, (node) => {
		const pair = pairOf(node);
		if (!node.parent || !node.parent.parent)
			return;
		if (nodeKey(node) === key)
			add(callers, node.parent, node, pair);
		if (nodeKey(node.parent) === key && node.parent.parent.parent)
			add(callees, node, node, pair);
		active.set(pair, (active.get(pair) || 0) + 1);
	}, (node) => active.set(pairOf(node), (active.get(pairOf(node)) || 1) - 1));
	return { callers: [...callers.values()], callees: [...callees.values()] };
}

/* The longest calls of a function within the selection. Shorter calls are only counted: a function may have a million. */
function callsOf(row, most) {
	const [from, to] = selection.from === null ? [-Infinity, Infinity] : [selection.from, selection.to];
	let found = [], total = 0, least = { duration: -1, instructions: -1 };
	const cut = () => {
		found = found.sort((a, b) => b.duration - a.duration || b.instructions - a.instructions || a.time - b.time).slice(0, most);
		if (found.length === most)
			least = found[most - 1];
	};
	for (const track of tracks())
		if (!track.isCpu && isThreadSelected(track))
			track.levels.forEach((list, level) => {
				for (let at = 0; at < list.count; at++) {
					if (list.name[at] !== row + 1 || list.end[at] < from || list.start[at] > to)
						continue;
					total++;
					const took = list.end[at] - list.start[at], instructions = list.instructions[at];
					if (took > least.duration || (took === least.duration && instructions > least.instructions))
						found.push({ track: track.number, level, at, time: list.start[at], duration: took, instructions });
					if (found.length === 8 * most)
						cut();
				}
			});
	cut();
	return { total, list: found };
}
