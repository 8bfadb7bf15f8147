# SPDX-License-Identifier: MIT
# Completion of `talus` for fish. The command itself knows the words.

function __talus_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':command *'
                set -l begin (string replace ':command ' '' -- $line)
                __fish_complete_subcommand --fcs-skip=$begin
            case '*'
                echo $line
        end
    end
end
complete -c talus -f -a '(__talus_complete)'
