# SPDX-License-Identifier: MIT
# Completion for fish. `sfid complete` knows commands, options and values; FILE and DIR stand for paths.

function __sfid_words
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l offered ($words[1] complete $words[2..-1] "$last" 2>/dev/null)
    switch "$offered"
        case FILE
            __fish_complete_path "$last"
        case DIR
            __fish_complete_directories "$last"
        case '*'
            string join \n -- $offered
    end
end
complete -c sfid -f -a '(__sfid_words)'
