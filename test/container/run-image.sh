# Runs a command in an image's root, as an engine does with --read-only --user 1000 --cap-drop ALL:
#   run-image.sh ROOT DATA SECRETS NODE COMMAND...
# NODE is this machine's, which the tests put before a command; the image has its own.
set -e
root=$1 data=$2 secrets=$3
shift 4
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/secrets"
mount --bind "$secrets" "$root/run/secrets"
mount --bind "$data" "$root/data"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --inh-caps=-all \
  --no-new-privs "$@"
