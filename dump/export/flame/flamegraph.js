// SPDX-License-Identifier: BSD-2-Clause
// Zoom, search, reverse and upside down for a flame graph that is there without it, too: the frames are read from the picture.
(function () {
'use strict';
const svg = document.currentScript.ownerSVGElement;
const holder = svg.getElementById('frames');
const make = (name) => document.createElementNS('http://www.w3.org/2000/svg', name);
const number = (element, name) => Number(element.getAttribute(name) || 0);
const width = number(svg, 'data-width'), margin = number(svg, 'data-margin'), row = number(svg, 'data-row');
const head = number(svg, 'data-head'), unit = svg.getAttribute('data-unit'), two = svg.getAttribute('data-two');
const letter = 7.2;
const state = {tree: null, focus: null, reverse: false, icicle: svg.hasAttribute('data-icicle'), search: ''};

// ---- the tree ----

function node(name, parent) {
	return {name: name, parent: parent, depth: parent ? parent.depth + 1 : 0, total: 0, self: 0, before: 0, selfBefore: 0,
		children: [], fill: ''};
}

// Frames stand in the order of a walk, each with its depth.
function readFrames() {
	const path = [];
	for (const frame of holder.children) {
		const depth = number(frame, 'data-d');
		const one = node(frame.querySelector('title').textContent.split('\n')[0], depth ? path[depth - 1] : null);
		one.total = number(frame, 'data-v');
		one.before = number(frame, 'data-w');
		one.fill = frame.querySelector('rect').getAttribute('fill');
		one.hue = one.fill;
		if (one.parent)
			one.parent.children.push(one);
		path[depth] = one;
		path.length = depth + 1;
	}
	return path[0];
}

function walk(start, visit) {
	const open = [start];
	while (open.length) {
		const one = open.pop();
		visit(one);
		for (let i = one.children.length; i-- > 0;)
			open.push(one.children[i]);
	}
}

function findSelf(tree) {
	walk(tree, (one) => {
		one.self = one.total - one.children.reduce((sum, child) => sum + child.total, 0);
		one.selfBefore = one.before - one.children.reduce((sum, child) => sum + child.before, 0);
	});
}

function child(parent, name, fill) {
	let found = parent.children.find((one) => one.name === name);
	if (!found) {
		found = node(name, parent);
		found.fill = fill;
		parent.children.push(found);
	}
	return found;
}

// Paths from what ran to who called it, below the program.
function reversed(tree) {
	const result = node(tree.name, null);
	result.fill = tree.fill;
	walk(tree, (one) => {
		let at = result, from = one;
		const add = () => {
			at.total += one.self;
			at.before += one.selfBefore;
		};
		if (one.self <= 0 && one.selfBefore <= 0)
			return;
		add();
		while (from.depth > 1)
			from = from.parent;
		if (one.depth) {
			at = child(at, from.name, from.fill);
			add();
		}
		for (from = one; from.depth > 1; from = from.parent) {
			at = child(at, from.name, from.fill);
			add();
		}
	});
	walk(result, (one) => one.children.sort((a, b) => b.total - a.total));
	return result;
}

// ---- drawing ----

function share(value, whole) {
	return whole ? (100 * value / whole).toFixed(2) + ' %' : '-';
}

function describe(one) {
	const whole = state.tree;
	let text = one.name + '\n' + one.total.toLocaleString('en') + ' ' + unit + ', ' + share(one.total, whole.total);
	if (two)
		text += '\n' + two + ': ' + one.before.toLocaleString('en') + ' ' + unit + ', ' + share(one.before, whole.before);
	return text;
}

function draw(one, left, wide, deepest) {
	const group = make('g'), title = make('title'), rect = make('rect');
	const y = state.icicle ? head + one.depth * row : head + (deepest - one.depth) * row;
	title.textContent = describe(one);
	rect.setAttribute('x', left.toFixed(2));
	rect.setAttribute('y', y);
	rect.setAttribute('width', Math.max(wide - 0.3, 0.1).toFixed(2));
	rect.setAttribute('height', row - 1);
	rect.setAttribute('fill', matches(one) ? '#d63af9' : one.fill);
	group.append(title, rect);
	const room = Math.floor((wide - 6) / letter);
	if (room >= 3) {
		const text = make('text');
		text.setAttribute('x', (left + 3).toFixed(2));
		text.setAttribute('y', y + row - 5);
		text.textContent = one.name.length <= room ? one.name : one.name.slice(0, room - 2) + '..';
		group.append(text);
	}
	group.addEventListener('click', () => zoom(one));
	holder.append(group);
}

function places() {
	const found = [];
	for (let up = state.focus.parent; up; up = up.parent)
		found.push([up, margin, width]);
	const open = [[state.focus, margin, width]];
	while (open.length) {
		const [one, left, wide] = open.pop();
		let at = left;
		found.push([one, left, wide]);
		for (const below of one.children) {
			const its = one.total ? wide * below.total / one.total : 0;
			if (its >= 0.1)
				open.push([below, at, its]);
			at += its;
		}
	}
	return found;
}

function render() {
	const found = places();
	const deepest = found.reduce((most, place) => Math.max(most, place[0].depth), 0);
	holder.textContent = '';
	for (const [one, left, wide] of found)
		draw(one, left, wide, deepest);
	const height = head + (deepest + 1) * row + 10;
	svg.setAttribute('height', height);
	svg.setAttribute('viewBox', '0 0 ' + (width + 2 * margin) + ' ' + height);
	showMatches();
}

// ---- search ----

let pattern = null;

function matches(one) {
	return pattern && pattern.test(one.name);
}

// What lies within a match is counted once.
function showMatches() {
	const open = [state.focus];
	let sum = 0;
	while (pattern && open.length) {
		const one = open.pop();
		if (matches(one))
			sum += one.total;
		else
			open.push(...one.children);
	}
	svg.getElementById('found').textContent = pattern ? 'found: ' + share(sum, state.focus.total) : '';
}

function search(words) {
	state.search = words || '';
	pattern = null;
	if (words) {
		try {
			pattern = new RegExp(words);
		} catch (error) {
			pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
		}
	}
	render();
}

// ---- what is asked for ----

function zoom(one) {
	state.focus = one;
	svg.getElementById('reset').setAttribute('opacity', one.parent ? 1 : 0.3);
	render();
}

function reverse() {
	state.reverse = !state.reverse;
	state.tree = state.reverse ? reversed(first) : first;
	zoom(state.tree);
}

function turn() {
	state.icicle = !state.icicle;
	render();
}

function ask() {
	const words = prompt('Search for names (a regular expression; nothing: no search)', state.search);
	if (words !== null)
		search(words);
}

const first = readFrames();
findSelf(first);
state.tree = state.focus = first;
const buttons = {reset: () => zoom(state.tree), reverse: reverse, turn: turn, search: ask};
for (const name in buttons) {
	svg.getElementById(name).addEventListener('click', buttons[name]);
	svg.getElementById(name).setAttribute('visibility', 'visible');
}
document.addEventListener('keydown', (event) => {
	const keys = {'/': 'search', 'Escape': 'reset', 'r': 'reverse', 'i': 'turn'};
	if (keys[event.key] && !event.ctrlKey && !event.altKey && !event.metaKey) {
		event.preventDefault();
		buttons[keys[event.key]]();
	}
});

// A link can name a view: file.svg#reverse&search=deflate&zoom=main
for (const part of location.hash.slice(1).split('&')) {
	const [what, words] = part.split('=').map(decodeURIComponent);
	let found = null;
	if (what === 'reverse')
		reverse();
	else if (what === 'turn')
		turn();
	else if (what === 'search')
		search(words);
	if (what === 'zoom')
		walk(state.tree, (one) => { found = found || (one.name === words ? one : null); });
	if (found)
		zoom(found);
}
})();
