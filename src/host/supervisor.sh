#!/bin/sh
# Runs one shell command so that it outlives the worker that asked for it, and writes down how it ended.
#
#   supervisor.sh TICKET BOOT_ID PID_NAMESPACE MARK DEADLINE_MS MAX_BYTES CWD
#
# It is started in the folder of the run, as leader of a session of its own, with TICKET (a file of that folder) open for
# writing as fd 3, and with the environment of the command. DEADLINE_MS 0 means none. Files of the folder:
#
#   command   in    the text for `bash -c`
#   prelude   in    what bash sources first, through BASH_ENV: at its end it leaves the working directory in `cwd`
#   process   out   identity of this process, linked from TICKET: who removes TICKET first has prevented the run
#   output    out   stdout and stderr in the order they were written
#   why       both  `deadline`, `size` or `killed`, made by whoever ends the command before its time; the first one counts
#   exit      out   {"code":N,"why":"exit"|"deadline"|"size"|"killed"}, by rename, when nothing of the command runs any more
#
# The command runs in the foreground, because a shell starts what runs in the background with SIGINT ignored for good. So
# this process only waits; a watchdog beside it keeps the deadline and the size limit, and ends the command should this
# process be killed. Names start with ns_ so that no variable of the command's environment is changed.

ns_ticket=$1 ns_boot=$2 ns_namespace=$3 ns_mark=$4 ns_deadline=$5 ns_max=$6 ns_cwd=$7
ns_dir=$PWD
# The prelude gives the command its own PATH back.
PATH=/usr/bin:/bin:${PATH-}

# Handlers, not ignored signals: the command must start with the default ones.
trap : HUP INT QUIT TERM USR1 USR2 PIPE ALRM

# Monotonic milliseconds into ns_now.
ns_clock() {
  read -r ns_now ns_rest </proc/uptime
  ns_now=$((${ns_now%.*} * 1000 + (1${ns_now#*.} - 100) * 10))
}

# Puts the living processes of the command into ns_members: those that carry the mark, those in a session of one that
# does or in the command's own, and the children of all these. False when there is none.
ns_find() {
  ns_members=' ' ns_parents=- ns_sessions=-
  [ ! -s session ] || read -r ns_sessions <session
  ns_found=$(ns_marked && ns_relatives)
  while [ -n "$ns_found" ]; do
    ns_new=
    for ns_file in $ns_found; do
      ns_pid=${ns_file#/proc/} && ns_pid=${ns_pid%/*}
      case $ns_members in *" $ns_pid "*) continue ;; esac
      read -r ns_line <"/proc/$ns_pid/stat" || continue
      ns_new=yes ns_members="$ns_members$ns_pid " ns_parents="$ns_parents|$ns_pid"
      ns_line=${ns_line##*) } && ns_line=${ns_line#* * * } && ns_session=${ns_line%% *}
      # Between its start and its own setsid the command is still in the session of this process.
      [ "$ns_session" = $$ ] || ns_sessions="$ns_sessions|$ns_session"
    done
    [ -n "$ns_new" ] || break
    ns_found=$(ns_relatives)
  done
  [ "$ns_members" != ' ' ]
} 2>/dev/null

ns_marked() { LC_ALL=C grep -lsxzF -e "NIGHTSHIFT_CALL=$ns_mark" /proc/[0-9]*/environ || :; }

ns_relatives() {
  LC_ALL=C grep -lsE "\) [^ZX] (($ns_parents) |[0-9]+ [0-9]+ ($ns_sessions) )" /proc/[0-9]*/stat
}

# Kills who still holds the output open though nothing else tells that it belongs to the command.
ns_close() {
  read -r ns_line <"/proc/$ns_collector/stat"
  case ${ns_line##*) } in Z*) return ;; esac
  for ns_file in /proc/[0-9]*/fd/*; do
    ns_pid=${ns_file#/proc/} && ns_pid=${ns_pid%%/*}
    if [ "$ns_file" -ef "$ns_ticket.pipe" ] && [ "$ns_pid" != "$ns_collector" ]; then kill -KILL "$ns_pid"; fi
  done
} 2>/dev/null

# Waits up to half a second for what was told to end, then kills what is left; a second bounds it.
ns_finish() {
  ns_round=0
  while [ "$ns_round" -lt "$1" ] && ns_find; do
    ns_round=$((ns_round + 1))
    sleep 0.05
  done
  ns_round=0
  while [ "$ns_round" -lt 50 ] && ns_find; do
    kill -KILL $ns_members
    ns_round=$((ns_round + 1))
    [ "$ns_round" -lt 3 ] || sleep 0.02
  done
} 2>/dev/null

# Ends the command before its time, for reason $1.
ns_stop() {
  (set -C && echo "$1" >why) 2>/dev/null
  ns_find && kill -TERM $ns_members 2>/dev/null
  ns_finish 10
}

ns_watch() {
  trap : HUP INT QUIT TERM USR2 PIPE ALRM
  trap exit USR1
  ns_drain=0
  while :; do
    ns_pause=1000
    if ! kill -0 $$ 2>/dev/null; then
      ns_stop killed
      exit
    elif [ -e ended ]; then
      # Somebody who cannot be killed still holds the output open: he is not waited for.
      [ "$ns_drain" -eq 0 ] || kill "$ns_collector" 2>/dev/null
      ns_drain=1
    elif [ ! -e process ]; then
      # Nobody could find the command any more.
      ns_stop killed
    elif [ -e why ]; then
      ns_finish 10
    else
      read -r ns_rest ns_bytes </proc/self/fdinfo/6
      [ "$ns_bytes" -le "$ns_max" ] || ns_stop size
      if [ "$ns_deadline" -gt 0 ]; then
        ns_clock
        ns_pause=$((ns_end - ns_now))
        [ "$ns_pause" -gt 0 ] || ns_stop deadline
        [ "$ns_pause" -gt 0 ] && [ "$ns_pause" -lt 1000 ] || ns_pause=1000
      fi
    fi
    ns_fraction=$((1000 + ns_pause % 1000))
    sleep "$((ns_pause / 1000)).${ns_fraction#1}" 6>&- &
    wait $!
  done
}

# From here to the end the shell has read the whole script: it may be replaced while the command runs.
{
  read -r ns_line </proc/self/stat
  set -- ${ns_line##*) }
  printf '{"bootId":"%s","pidNamespace":"%s","pid":%d,"startTime":%s,"mark":"%s"}\n' \
    "$ns_boot" "$ns_namespace" $$ "${20}" "$ns_mark" >&3 || exit 74
  exec 3>&-
  # The output goes through a pipe: on a plain file `echo x >/dev/stderr` would cut what was written before.
  mkfifo "$ns_ticket.pipe" && exec 5<>"$ns_ticket.pipe" || exit 74
  ln "$ns_ticket" process || exit 75
  exec 6>output

  ns_clock
  ns_end=$((ns_now + ns_deadline))
  cat </proc/self/fd/5 >&6 2>&6 5>&- 6>&- &
  ns_collector=$!
  exec 7>/proc/self/fd/5 5>&-
  (exec 7>&- && ns_watch) &
  ns_watchdog=$!
  exec 6>&-

  (
    exec </dev/null >&7 2>&7 7>&-
    read -r ns_pid ns_rest </proc/self/stat
    echo "$ns_pid" >session
    cd -- "$ns_cwd" || exit 126
    unset OLDPWD
    export NIGHTSHIFT_CALL="$ns_mark" BASH_ENV="$ns_dir/prelude"
    ns_command=$(cat "$ns_dir/command") || exit 126
    [ ! -e "$ns_dir/why" ] || exit 143
    exec setsid /bin/bash -c "$ns_command" bash
  )
  ns_code=$?
  exec 7>&-
  trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM
  : >ended

  if [ -e why ]; then ns_finish 10; else ns_finish 0; fi
  ns_close
  wait "$ns_collector"
  # To the whole group: what the watchdog is waiting for ends too.
  kill -USR1 0
  wait "$ns_watchdog"
  ns_why=exit
  [ ! -s why ] || read -r ns_why <why
  rm -f session ended "$ns_ticket" "$ns_ticket.pipe"
  # On a full disk the news is kept until there is room, for a minute.
  ns_round=0
  until printf '{"code":%d,"why":"%s"}\n' "$ns_code" "$ns_why" >exit.new && mv exit.new exit; do
    [ "$ns_round" -lt 60 ] && [ -e process ] || exit 74
    ns_round=$((ns_round + 1))
    sleep 1
  done
  exit 0
}
