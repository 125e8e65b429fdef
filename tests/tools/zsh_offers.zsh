# SPDX-License-Identifier: BSD-2-Clause
# What zsh offers at the end of each line, one a line, "--" behind each: zsh -f zsh_offers.zsh FOLDER LINE...
# FOLDER holds the completions. An interactive zsh runs in a terminal of its own, and says what it would show.
zmodload zsh/zpty || exit 1
folder=$1; shift
zpty inner zsh -f -i
zpty -w inner "
LISTMAX=10000 LINES=1000; unsetopt zle_bracketed_paste beep menu_complete auto_menu; setopt extended_glob; stty -echo; PROMPT= PS2= RPROMPT=
fpath=(${(q)folder} \$fpath); autoload -Uz compinit; compinit -u -D
# With -O, -A or -D it only fills arrays for the completion functions.
compadd() {
	local -a found
	local own=\${argv[(I)-[A-Za-z]#[OAD]]}
	if (( own && own < \${argv[(i)(-|--)]} )); then
		builtin compadd \"\$@\"; return
	fi
	builtin compadd -A found \"\$@\"
	print -rl -- offer:\$^found
	builtin compadd \"\$@\"
}
show() { zle complete-word; print end:; zle kill-whole-line }
zle -N show; bindkey '^I' show; print ready:"
until [[ $line == *ready:* ]]; do zpty -r inner line || exit 1; done
for words; do
	zpty -n -w inner $words$'\t'
	until [[ $line == *end:* ]]; do
		zpty -r inner line || exit 1
		[[ $line == *offer:* ]] && print -r -- ${${line##*offer:}%$'\r\n'}
	done
	line=; print -- --
done
zpty -d inner
