#!/usr/bin/env bash
# Put Fashion-MNIST, as Debian packages it, into a folder and print where its *-ubyte.gz lie.
# usage: utils/fetch-fashion-mnist.sh FOLDER      what is there already is kept
set -euo pipefail
folder=${1:?usage: fetch-fashion-mnist.sh FOLDER}
data=$folder/usr/share/datasets/fashion-mnist
if [ ! -d "$data" ]; then
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download dataset-fashion-mnist && dpkg -x ./dataset-fashion-mnist_*.deb "$folder") >&2
fi
echo "$data"
