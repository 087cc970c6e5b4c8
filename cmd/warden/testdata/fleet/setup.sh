# A directory that is an exchange, and hosts that use it.
set -e
mkdir "$HOST/exchange"
touch "$HOST/exchange/gatehouse-exchange"
for host in "$@"; do
	mkdir -p "$HOST/$host/live" "$HOST/$host/export"
	git init -q -b main "$HOST/$host/repo"
	printf 'version: 1\nallow:\n  - git status\n' > "$HOST/$host/live/gate.yaml"
	printf 'rules: []\n' > "$HOST/$host/live/rules.yaml"
	chown -R gh-agent "$HOST/$host/live" "$HOST/$host/export"
done
