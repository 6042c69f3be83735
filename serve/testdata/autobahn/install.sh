#!/usr/bin/env bash
# Unpacks Autobahn's WebSocket test suite and what it needs into the folder $1, whose wstest
# is then the command. The suite runs under Python 2.7 alone: that of this machine, or else
# that of Debian 11, which had it last. Its packages come from the mirrors that apt is set up
# with, with apt's check of signatures, and are unpacked without being installed.
# It ends with 77 if something is out of reach.
set -euo pipefail
missing() { echo "Autobahn's suite cannot be installed: $1"; exit 77; }
dir=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$dir"
mkdir -p lists/partial archives/partial root site wheels sources

# debian unpacks Python 2.7 of Debian 11 into root, from the first mirror that has it.
debian() {
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || return 1
	: >status
	local apt=(apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$dir/lists" -o "Dir::State::status=$dir/status"
		-o "Dir::Cache::archives=$dir/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
		-o APT::Update::Error-Mode=any -o APT::Sandbox::User=root)
	local site deb
	for site in $(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sort -u); do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site bullseye main" >sources.list
		"${apt[@]}" update || continue
		"${apt[@]}" download python2.7-minimal libpython2.7-minimal libpython2.7-stdlib libssl1.1 libffi7 || continue
		for deb in *.deb; do dpkg -x "$deb" root; done
		return 0
	done
	return 1
}

# The suite's own imports that are parts of Python which a build may lack.
if command -v python2.7 >/dev/null && python2.7 -c 'import ctypes, json, ssl, zlib' 2>/dev/null; then
	python=$(python2.7 -c 'import sys; print(sys.executable)') home= libraries=
else
	debian || missing "there is no Python 2.7"
	python=$dir/root/usr/bin/python2.7 home=$dir/root/usr libraries=$dir/root/usr/lib/x86_64-linux-gnu
fi
cat >python <<END
#!/bin/sh
${home:+export PYTHONHOME="$home" LD_LIBRARY_PATH="$libraries"}
export PYTHONPATH="$dir/site"
exec "$python" "\$@"
END
chmod +x python
abi=$(./python -c 'import sys; print("cp27mu" if sys.maxunicode > 0xffff else "cp27m")')

pip=(python3 -m pip download -q --no-deps --disable-pip-version-check)
"${pip[@]}" --only-binary=:all: --implementation cp --python-version 27 --abi "$abi" --abi none --platform manylinux1_x86_64 --platform manylinux2010_x86_64 --platform any -d wheels \
	autobahntestsuite==25.10.1 Twisted==19.10.0 klein==17.10.0 Werkzeug==1.0.1 Jinja2==2.11.3 MarkupSafe==1.1.1 zope.interface==4.6.0 six==1.16.0 constantly==15.1.0 \
	incremental==16.10.1 Automat==22.10.0 attrs==21.4.0 hyperlink==21.0.0 idna==2.10 typing==3.10.0.0 setuptools==44.0.0 ujson==2.0.3 pyOpenSSL==19.1.0 cryptography==3.3.2 \
	cffi==1.15.1 enum34==1.1.10 ipaddress==1.0.23 service_identity==18.1.0 pyasn1==0.5.1 pyasn1_modules==0.3.0 pycparser==2.21 unittest2==1.1.0 linecache2==1.0.0 traceback2==1.4.0 argparse==1.4.0 || missing "its wheels"
"${pip[@]}" --no-binary :all: -d sources autobahn==0.10.9 txaio==2.1.0 || missing "its sources"
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" site; done
for source in sources/*.tar.gz; do tar xzf "$source" -C sources; done
cp -r sources/autobahn-0.10.9/autobahn sources/txaio-2.1.0/txaio site/
touch site/zope/__init__.py
cat >wstest <<END
#!/bin/sh
exec "$dir/python" -c 'from autobahntestsuite.wstest import run; run()' "\$@"
END
chmod +x wstest
./wstest --help >/dev/null # its imports are there
