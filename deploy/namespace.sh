#!/bin/sh
# Makes the namespace, and keeps closed workflows for 30 days. May run again.
set -eu
until temporal operator cluster health; do sleep 2; done
temporal operator namespace describe -n default || temporal operator namespace create -n default
temporal operator namespace update -n default --retention 720h
