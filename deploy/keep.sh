#!/bin/sh
# Keeps the service of this container up. A worker that dies is started again by the keeper, and a keeper that dies by
# this loop, so that running commands are adopted as long as the container lives.
stopping=
child=
told=
# Hands a stop on, once to each child.
tell() {
  [ -n "$child" ] && [ "$told" != "$child" ] && told=$child && kill -TERM "$child" 2>/dev/null
}
trap 'stopping=yes; tell' TERM INT
while [ -z "$stopping" ]; do
  child=
  nightshift up --foreground &
  child=$!
  # A stop that came before its pid was known has not reached it.
  [ -n "$stopping" ] && tell
  wait "$child"
  code=$?
  # A signal ends the first wait early: the service is given the time to end in order.
  while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
  [ "$code" -eq 0 ] && exit 0
  [ -z "$stopping" ] && sleep 1
done
exit 0
