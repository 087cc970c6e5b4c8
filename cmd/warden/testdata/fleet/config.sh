set -e
common() {
	cat <<END
version: 1
host: $1
repository: $HOST/$1/repo
state: $HOST/$1/state
index: $HOST/$1/gates.json
notify:
  journal: false
END
	test $1 != hub || echo "  webhook: {url: \"$HOOK\"}" # the hub tells, once for all
}
gates() {
	cat <<END
gates:
  - name: claude
    user: gh-agent
    export: $HOST/$1/export
    live:
      - {name: policy, root: $HOST/$1/live}
END
}
own() { # the hub's own gate, where a script wants it to have one
	test -z "$OWN" || gates hub | sed "s/claude/$OWN/"
}
peers() {
	cat <<END
peers:
  exchange: {directory: $HOST/exchange}
END
}
for host in "$@"; do
	{ common $host; gates $host; peers; } > $HOST/$host.yaml
	warden --config $HOST/$host.yaml peers key > $HOST/$host.key
done
hosts() {
	echo "  hosts:"
	for host in hub one two; do
		echo "    - {name: $host, key: \"$(grep -o 'ed25519:[A-Za-z0-9+/=]*' $HOST/$host.key | head -1)\"}"
	done
}
{ common hub; own; peers; hosts; printf 'fleet:\n  - gate: claude\n    hosts: [one, two]\n'; } > $HOST/hub.yaml
for host in one two; do
	{ common $host; gates $host; peers; hosts; echo "  follow: hub"; } > $HOST/$host.yaml
done
