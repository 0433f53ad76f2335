#!/bin/sh
# Keeps the service of this container up. A worker that dies is started again by the keeper, and a keeper that dies by
# this loop, so that running commands are adopted as long as the container lives.
stopping=
trap 'stopping=yes; kill -TERM "$child" 2>/dev/null' TERM INT
while :; do
  nightshift up --foreground &
  child=$!
  wait "$child"
  code=$?
  # A signal ends the first wait early: the service is given the time to end in order.
  while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
  [ -n "$stopping" ] && exit 0
  [ "$code" -eq 0 ] && exit 0
  sleep 1
done
