#!/usr/bin/env bash
# Unpacks Autobahn's WebSocket test suite and what it needs into the folder $1, whose wstest
# is then the command. The suite runs under Python 2.7 alone, which Debian 11 had last: its
# packages are fetched with apt's check of signatures, and unpacked without being installed.
# Exits with 77 if an index is out of reach.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$dir"
mkdir -p lists/partial archives/partial root site wheels sources
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bullseye main' >sources.list
: >status
apt=(apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$dir/lists" -o "Dir::State::status=$dir/status"
	-o "Dir::Cache::archives=$dir/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)
"${apt[@]}" update || exit 77
"${apt[@]}" download python2.7-minimal libpython2.7-minimal libpython2.7-stdlib libssl1.1 libffi7 || exit 77
for deb in *.deb; do dpkg -x "$deb" root; done

pip=(python3 -m pip download -q --no-deps --disable-pip-version-check)
"${pip[@]}" --only-binary=:all: --implementation cp --python-version 27 --abi cp27mu --abi none --platform manylinux1_x86_64 --platform manylinux2010_x86_64 --platform any -d wheels \
	autobahntestsuite==25.10.1 Twisted==19.10.0 klein==17.10.0 Werkzeug==1.0.1 Jinja2==2.11.3 MarkupSafe==1.1.1 zope.interface==4.6.0 six==1.16.0 constantly==15.1.0 \
	incremental==16.10.1 Automat==22.10.0 attrs==21.4.0 hyperlink==21.0.0 idna==2.10 typing==3.10.0.0 setuptools==44.0.0 ujson==2.0.3 pyOpenSSL==19.1.0 cryptography==3.3.2 \
	cffi==1.15.1 enum34==1.1.10 ipaddress==1.0.23 service_identity==18.1.0 pyasn1==0.5.1 pyasn1_modules==0.3.0 pycparser==2.21 unittest2==1.1.0 linecache2==1.0.0 traceback2==1.4.0 argparse==1.4.0 || exit 77
"${pip[@]}" --no-binary :all: -d sources autobahn==0.10.9 txaio==2.1.0 || exit 77
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" site; done
for source in sources/*.tar.gz; do tar xzf "$source" -C sources; done
cp -r sources/autobahn-0.10.9/autobahn sources/txaio-2.1.0/txaio site/
touch site/zope/__init__.py
cat >wstest <<EOF
#!/bin/sh
export LD_LIBRARY_PATH="$dir/root/usr/lib/x86_64-linux-gnu" PYTHONHOME="$dir/root/usr" PYTHONPATH="$dir/site"
exec "$dir/root/usr/bin/python2.7" -c 'from autobahntestsuite.wstest import run; run()' "\$@"
EOF
chmod +x wstest
