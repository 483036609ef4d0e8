#!/bin/sh
# Stands in for perf where hardware samples nothing: what it "records" (perf mem record -o FILE --
# PROGRAM...) is the file `prepared` beside FILE. `perf inject --itrace=M -i FILE -o OUT` copies.
case $1 in
inject) exec cp "$4" "$6" ;;
esac
prepared=${4%/*}/prepared
if [ -f "$prepared" ]; then
    cp "$prepared" "$4"
fi
shift 5
exec "$@"
