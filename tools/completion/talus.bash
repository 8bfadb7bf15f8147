# SPDX-License-Identifier: MIT
# Completion of `talus` for bash. The command itself knows the words.

_talus() {
  local line choice part=${COMP_WORDS[COMP_CWORD]} word begun="" words=() command=""
  # bash parts words at '=' too; the command wants KEY=VALUE whole.
  for line in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ ${#words[@]} -gt 1 && ($line == "=" || ${words[-1]} == *=) && $begun != " " ]]; then
      words[-1]+=$line
    else
      words+=("$line")
    fi
  done
  word=${words[-1]}
  [[ $part == "=" ]] && part=""
  begun=${word%"$part"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default ;;
      ":command "*) command=${line#:command } ;;
      *)
        choice=${line%%$'\t'*}
        [[ $choice == *= ]] && compopt -o nospace
        COMPREPLY+=("${choice#"$begun"}")
        ;;
    esac
  done < <("$1" complete -- "${words[@]}" 2>/dev/null)
  [[ -n $command ]] || return 0
  if ((command == ${#words[@]} - 1)); then
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "$part")
    compopt -o default
  elif declare -F _command_offset >/dev/null; then
    # Its words are counted as bash parts them.
    _command_offset $((command + COMP_CWORD + 1 - ${#words[@]}))
  else
    compopt -o default
  fi
}
complete -F _talus talus
