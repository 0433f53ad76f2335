#!/bin/sh
# Makes both databases of Temporal where they are missing, and brings their schemas up to date. May run again.
set -eu
for database in temporal temporal_visibility; do
  case $database in
    temporal) schema=temporal ;;
    *) schema=visibility ;;
  esac
  tool() { temporal-sql-tool --plugin postgres12 --ep postgresql -p 5432 -u temporal --db "$database" "$@"; }
  tool create
  tool setup-schema -v 0.0
  tool update-schema -d "/etc/temporal/schema/postgresql/v12/$schema/versioned"
done
