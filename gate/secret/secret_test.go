package secret

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// of repeats characters to the length n.
func of(chars string, n int) string { return strings.Repeat(chars, n/len(chars)+1)[:n] }

// The credentials are put together here, so that no scanner takes this file for a leak.
var (
	github  = "ghp_" + of("aB3dE5", 36)
	aws     = "AKIA" + of("Q7XN", 16)
	slack   = "xoxb-" + of("123456", 12) + "-" + of("aBc1", 24)
	jwt     = "eyJ" + of("hbGciOi", 20) + ".eyJ" + of("zdWIiOi", 20) + "." + of("s5w_c-", 43)
	pem     = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + of("MIIEow", 64) + "\n-----END RSA PRIVATE" + " KEY-----"
	randoms = of("wJalrXUtnFEMI/K7MDENG", 40)
)

// TestFormsAreFound has one credential in each row. It stands alone, and is found in lines and in JSON as well.
func TestFormsAreFound(t *testing.T) {
	for kind, tokens := range map[string][]string{
		"aws-access-key-id":    {aws, "ASIA" + of("Q7XN", 16)},
		"github-token":         {github, "gho_" + of("aB3", 36), "ghs_" + of("aB3", 36), "github" + "_pat_" + of("aB3_", 82)},
		"gitlab-token":         {"glpat" + "-" + of("aB3-", 20), "gldt-" + of("aB3", 20), "glrt-" + of("aB3", 20)},
		"slack-token":          {slack, "xapp-" + of("1-A0", 30)},
		"slack-webhook":        {"hooks.slack.com/" + "services/T0000/B0000/" + of("aB3", 24)},
		"stripe-key":           {"sk_" + "live_" + of("aB3", 24), "rk_" + "live_" + of("aB3", 24), "sk_" + "test_" + of("aB3", 24), "whsec_" + of("aB3", 32)},
		"google-api-key":       {"AIza" + of("Sy_D-3", 35)},
		"google-oauth-token":   {"ya29." + of("a0Af_", 60)},
		"google-client-secret": {"GOCSPX-" + of("aB3_", 28)},
		"anthropic-key":        {"sk-" + "ant-api03-" + of("aB3-_", 93)},
		"openai-key":           {"sk-" + of("aB3", 48), "sk-proj-" + of("aB3_-", 80), "sk-svcacct-" + of("aB3_", 60)},
		"npm-token":            {"npm_" + of("aB3", 36)},
		"pypi-token":           {"pypi-AgE" + of("IcHlw_", 80)},
		"huggingface-token":    {"hf_" + of("aBcD", 34)},
		"digitalocean-token":   {"dop_v1_" + of("0a9f", 64)},
		"sendgrid-key":         {"SG." + of("aB3_", 22) + "." + of("cD4-", 43)},
		"age-key":              {"AGE-SECRET-KEY-1" + of("QPZRY9X8", 58)},
		"telegram-bot-token":   {"123456789:AA" + of("Ha_-", 33)},
		"discord-bot-token":    {"M" + of("TIzNDU2", 23) + ".G1abcd." + of("xY_z-", 38)},
		"jwt":                  {jwt},
		"private-key":          {pem, "-----BEGIN PGP PRIVATE KEY" + " BLOCK-----\nabc"},
		"azure-client-secret":  {"abc8Q~" + of("xY.z_-", 34)},
		"terraform-token":      {of("aB3", 14) + ".atlasv1." + of("xY_z", 67)},
		"docker-token":         {"dckr_pat_" + of("aB3-", 27)},
		"shopify-token":        {"shpat_" + of("0a9f", 32)},
		"twilio-key":           {"SK" + of("0a9f", 32)},
		"databricks-token":     {"dapi" + of("0a9f", 32)},
		"vault-token":          {"hvs." + of("aB3_", 90)},
		"grafana-token":        {"glsa_" + of("aB3", 32) + "_0a9f0a9f"},
		"linear-key":           {"lin_api_" + of("aB3", 40)},
		"mailgun-key":          {"key-" + of("0a9f", 32)},
		"xai-key":              {"xai-" + of("aB3", 80)},
		"groq-key":             {"gsk_" + of("aB3", 52)},
		"supabase-token":       {"sbp_" + of("0a9f", 40)},
	} {
		for _, token := range tokens {
			for _, frame := range []string{"%", "echo %", "x='%'; y", `{"a": "b\n%\nc"}`, "curl -H 'X: %' https://example.com", "see https://%", "(%)", "%, %"} {
				text := strings.ReplaceAll(frame, "%", token)
				want := strings.ReplaceAll(frame, "%", mark(kind))
				if strings.HasPrefix(token, "-----BEGIN PGP") {
					want = frame[:strings.Index(frame, "%")] + mark(kind) // it has no end
				}
				if got := Redact(text); got != want {
					t.Errorf("Redact(%q)\n got %q\nwant %q", text, got, want)
				}
			}
		}
	}
}

// In each line, what stands between ‹ and › is the credential.
var placed = []struct{ kind, text string }{
	{password, "PASSWORD=‹hunter2› ./run"},
	{password, "export DB_PASSWORD='‹correct horse›'"},
	{password, `PGPASSWORD="‹pa$$w0rd›" psql`},
	{password, `MYSQL_PWD=$'‹a\'b›' mysql`},
	{password, "SMTP_PASS=‹a,b;›"[:len("SMTP_PASS=‹a,b")] + "›; true"},
	{password, "wget --password=‹letmein› https://example.com"},
	{password, "tool --db-password ‹hunter2› --verbose"},
	{password, "tool -password ‹hunter2›"},
	{password, "psql 'host=db user=me password=‹hunter2› dbname=x'"},
	{password, `{"password": "‹hunter2›", "user": "me"}`},
	{password, `curl -d "{\"user\":\"me\",\"password\":\"‹hunter2›\"}" https://example.com`},
	{password, "user: me\npassword: ‹hunter2›\n"},
	{password, "db:\n  - password: ‹hunter2!›\n"},
	{password, `password = "‹hunter2›"`},
	{password, "Server=db;Uid=me;Pwd=‹hunter2›;"},
	{password, "mysql -u root -p‹hunter2› shop"},
	{password, "mysqldump -p'‹hunter 2›' shop | gzip"},
	{password, "cd /srv && sudo mysql -p‹hunter2›"},
	{password, `ssh box "mysql -p‹hunter2› shop"`},
	{password, `bash -c 'sshpass -p "‹hunter2›" ssh box'`},
	{password, "sshpass -p‹hunter2› ssh box"},
	{password, "curl -u me:‹hunter2› https://example.com"},
	{password, "curl -s --user 'me:‹hunter2›' https://example.com"},
	{password, "curl -ume:‹hunter2› https://example.com"},
	{password, "docker login -u me -p ‹hunter2› registry.example.com"},
	{password, "echo ‹hunter2› | docker login -u me --password-stdin"},
	{password, "echo '‹hunter2›' | sudo -S apt install x"},
	{password, "printf '‹hunter2›\\n' | sudo -S true"},
	{password, "echo me:‹hunter2› | sudo chpasswd"},
	{password, "sudo -S true <<< ‹hunter2›"},
	{password, "redis-cli -a ‹hunter2› ping"},
	{password, "ldapsearch -x -D cn=me -w ‹hunter2›"},
	{password, "unzip -P ‹hunter2› a.zip"},
	{password, "7z x -p‹hunter2› a.7z"},
	{password, "openssl enc -aes-256-cbc -pass pass:‹hunter2› -in a"},
	{password, "openssl rsa -passin pass:‹hunter2›"},
	{password, "htpasswd -bc /etc/htpasswd me ‹hunter2›"},
	{password, "smbclient -U 'me%‹hunter2›' //host/share"},
	{password, "rabbitmqctl add_user me ‹hunter2›"},
	{password, "echo 'machine example.com login me password ‹hunter2›' > ~/.netrc"},
	{password, "git config credential.password ‹hunter2›"},
	{password, "gpg --batch --passphrase ‹hunter2› -d a.gpg"},
	{password, "kubectl create secret generic db --from-literal=password=‹hunter2›"},
	{password, "ansible-playbook -e ansible_password=‹hunter2› site.yml"},
	{plainToken, "GH_TOKEN=‹0123456789abcdef0123› gh pr list"},
	{plainToken, "API_TOKEN=‹abcdefgh› ./run"},
	{plainToken, "tool --token ‹a1b2c3d4e5›"},
	{plainToken, "tool --auth-token=‹a1b2c3d4e5›"},
	{plainToken, "curl 'https://example.com/x?access_token=‹a1b2c3d4e5›&page=2'"},
	{plainToken, "curl -H 'X-Auth-Token: ‹a1b2c3d4e5›' https://example.com"},
	{plainToken, "//registry.npmjs.org/:_authToken=‹a1b2c3d4e5›"},
	{plainToken, "npm config set //registry.npmjs.org/:_authToken ‹a1b2c3d4e5›"},
	{plainToken, `{"accessToken":"‹a1b2c3d4e5›"}`},
	{plainToken, "refresh_token: ‹a1b2c3d4e5›"},
	{plainSecret, "CLIENT_SECRET=‹mysecretvalue› ./run"},
	{plainSecret, `client_secret = "‹a1b2c3d4e5›"`},
	{plainSecret, "fly secrets set COLOUR=‹blue›"},
	{plainSecret, "aws secretsmanager create-secret --name x --secret-string ‹blue›"},
	{plainSecret, "gh secret set COLOUR --body ‹blue›"},
	{plainKey, "AWS_SECRET_ACCESS_KEY=‹" + randoms + "› aws s3 ls"},
	{plainKey, "aws_secret_access_key = ‹" + randoms + "›"},
	{plainKey, "aws configure set aws_secret_access_key ‹" + randoms + "›"},
	{plainKey, "curl -H 'X-API-Key: ‹a1b2c3d4e5›' https://example.com"},
	{plainKey, "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=‹" + randoms + "==›;EndpointSuffix=core"},
	{authorization, "curl -H 'Authorization: Basic ‹bWU6aHVudGVyMg==›' https://example.com"},
	{authorization, "curl -H 'Authorization: token ‹0123456789abcdef›' https://example.com"},
	{authorization, `{"headers": {"Authorization": "Bearer ‹0123456789abcdef›"}}`},
	{authorization, "Proxy-Authorization: Basic ‹bWU6aHVudGVyMg==›"},
	{bearer, `fetch(u, "Bearer ‹0123456789abcdef0123›")`},
	{cookie, "curl -H 'Cookie: ‹sid=0123456789abcdef; a=b›' https://example.com"},
	{signature, "curl 'https://x.blob.core.windows.net/c?sv=2020&sig=‹" + of("aB3%2F", 50) + "›&se=1'"},
	{urlPassword, "git clone https://me:‹hunter2›@example.com/a.git"},
	{urlPassword, "psql postgres://me:‹hunter2›@db:5432/shop"},
	{urlPassword, "redis://:‹hunter2›@cache:6379"},
	{urlPassword, "git clone https://‹0123456789abcdef0123›@example.com/a.git"},
	{urlPassword, `dsn := "me:‹hunter2›@tcp(db:3306)/shop"`},
}

func TestPlacesAreFound(t *testing.T) {
	for _, row := range placed {
		start := strings.Index(row.text, "‹")
		text := strings.NewReplacer("‹", "", "›", "").Replace(row.text)
		want := []Found{{row.kind, start, strings.Index(row.text, "›") - len("‹")}}
		if diff := cmp.Diff(want, Find(text)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestWhatIsNoCredentialStays(t *testing.T) {
	hash := of("0123456789abcdef", 40)
	for _, text := range []string{
		"", "=", ":", "-", "git commit -m 'fix: the password dialog'",
		"git show " + hash, "git diff " + hash + ".." + hash, "commit " + hash + "\nAuthor: me <me@example.com>",
		"docker run image@sha256:" + of("0123456789abcdef", 64), "sha256sum -c <<< '" + of("0af9", 64) + "  x'",
		"curl https://example.com/123e4567-e89b-12d3-a456-426614174000/x", "id=123e4567-e89b-12d3-a456-426614174000",
		`<img src="data:image/png;base64,` + of("iVBORw0KGgoAAAANSUhEUgAA/9k+", 4000) + `">`,
		"PASSWORD=$VAR cmd", `PASSWORD="$VAR" cmd`, `PASSWORD="${VAR}" cmd`, "PASSWORD=$(pass show x) cmd", `TOKEN="$(cat /run/secrets/token)"`,
		"PASSWORD=`cat x`", "export TOKEN=", "PASSWORD= cmd", "PASSWORD='' cmd", "unset PASSWORD", "echo $PASSWORD", `echo "${DB_PASSWORD:-none}"`,
		"[ -z \"$TOKEN\" ]", "test $PASSWORD == x1y2z3", "if [[ $password != secret1 ]]; then", "read -s PASSWORD", "read -rsp 'Password: ' pw",
		"tool --password-file x", "tool --password-file=/etc/pw", "tool --token-file ./t1", "tool --password-stdin", "docker login --password-stdin",
		"tool --password", "tool --password --verbose", "tool --password $PW", "tool --token=$TOKEN", "tool --token \"$TOKEN\"", "tool --no-password mydb1",
		"tool --password @file1", "tool --password env:PW1", "tool --password <password>", "tool --token YOUR_TOKEN", "tool --api-key your-api-key-1",
		"TOKEN=YOUR_API_TOKEN cmd", "TOKEN=xxxxxxxx cmd", "PASSWORD='***' cmd", "PASSWORD=<secret> cmd", "password: {{ vault_pw1 }}",
		"TOKEN=op://vault/item/field cmd", "max_tokens=4096", "--max-token=12345678", "next_token=abcdef1234", "aws s3 ls --starting-token abc12345",
		"token_type=bearer1234", "TOKEN_URL=https://example.com/t0ken1", "AWS_ACCESS_KEY_ID=x", "secretName: db-creds1", "PWD=/home/me", "OLDPWD=/a1/b2",
		"cd $PWD; pwd=1234", "pass=5 fail=0", "12 pass: 34, fail: 0", "DB_PASSWORD_FILE=/run/secrets/pw1",
		"mysql --password shop1", "psql --password shop1", "mysql -p shop1", "mkdir -p a1b2c3", "ssh -p 2222 box", "docker run -p 8080:80 nginx",
		"cp -p a1 b2", "curl -u me https://example.com", "curl -u me:$PW https://example.com", "curl -u \"$U:$P\" https://example.com",
		"curl -H \"Authorization: Bearer $TOKEN\" https://example.com", "curl -H 'Authorization: Bearer <token>' x", "Authorization: Basic",
		"Bearer authentication is required", "git clone https://me@example.com/a.git", "git clone git@github.com:a/b.git",
		"https://example.com:8080/a@b", "http://$U:$P@example.com", "https://user:<password>@example.com", "https://user:***@example.com",
		"rsync a1:b2@c3 .", "type User struct { Password string; Token string }", "password: string;", "password: str", "  token: Optional[str] = None",
		"def login(user, password=None, token=None):", "connect(user, password=password, token=my_token1)", "token = tokens[0]", "token = next(it1)",
		"password = getpass.getpass()", "const token = process.env.TOKEN1", "token: self.token1", "password = settings.DB_PASSWORD",
		`os.environ["API_KEY1"]`, `{"password": "Password is required"}`, `"password": "Password"`, `<input type="password" name="password">`,
		"Password: required", "token: the one that you got1", "grep -rn 'password' src1/", "grep password: config1.yaml",
		"kubectl get secret token1", "docker build --secret id=npmrc,src=/x1 .", "man mysql", "task-list-" + of("ab1", 40), "risk-" + of("ab1", 40),
		"sk-learn-" + of("abc", 20), "pad_token=<pad>", "eos_token=abcd1234", "client_request_token=a1b2c3d4", "don't; mkdir -p 'a b'", "AKIAshort",
		"eyJhbGciOi", "xoxb-", "ghp_", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMIIB",
		"find / -type d -name mysql -prune", "grep -r mysql -print0x1", "apt install mysql -pin1", "grep '^JWT_SECRET=' a1b2.env | cut -d= -f2-",
		"password=None...", "http://u:p@example.com", "^postgres(ql)?://[^:]+:)[^@]", "fly secrets set CORS=\"*\"", "key=value1234567", "PRIMARY_KEY=id12345678", "cache-key: v1-linux-abc123", "sort --key=2", "apt-key add x1", "ssh-keygen -t ed25519 -N ''",
		"--private-key ~/.ssh/id_ed25519", "--private-key=./a.pem", "SSL_PRIVATE_KEY=/etc/ssl/private/a1.key",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%s\n%v: %q", text, found, text[found[0].Start:found[0].End])
		}
	}
}

func TestSeveralAreRedactedAndNothingElse(t *testing.T) {
	text := "PGPASSWORD=hunter2 psql && curl -H 'Authorization: Bearer " + github + "' https://me:" + slack + "@example.com/?token=" + jwt
	want := "PGPASSWORD=«redacted:password» psql && curl -H 'Authorization: Bearer «redacted:github-token»' " +
		"https://me:«redacted:slack-token»@example.com/?token=«redacted:jwt»"
	got := Redact(text)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := Redact(got); again != got {
		t.Errorf("redacted again: %s", again)
	}
}

func TestWordsOfACommandAreRedacted(t *testing.T) {
	for _, row := range []struct{ argv, want []string }{
		{[]string{"tool", "--password", "hunter 2", "x"}, []string{"tool", "--password", "«redacted:password»", "x"}},
		{[]string{"mysql", "-phunter2", "db"}, []string{"mysql", "-p«redacted:password»", "db"}},
		{[]string{"curl", "-u", "me:hunter2", github}, []string{"curl", "-u", "me:«redacted:password»", "«redacted:github-token»"}},
		{[]string{"env", "TOKEN=abc123", "run"}, []string{"env", "TOKEN=«redacted:token»", "run"}},
		{[]string{"bash", "-c", "mysql -phunter2"}, []string{"bash", "-c", "mysql -p«redacted:password»"}},
		{[]string{"tool", "--password-file", "x"}, []string{"tool", "--password-file", "x"}},
		{[]string{"htpasswd", "-b", "f", "me", "hunter2"}, []string{"htpasswd", "-b", "f", "me", "«redacted:password»"}},
		{[]string{"htpasswd", "-b", "f", "me", "hunter2", "-v"}, []string{"htpasswd", "-b", "f", "me", "«redacted:password»", "-v"}},
		{[]string{}, []string{}},
		{[]string{"", "a\nb", "--password", ""}, []string{"", "a\nb", "--password", ""}},
	} {
		if diff := cmp.Diff(row.want, RedactArgv(row.argv)); diff != "" {
			t.Errorf("%q: %s", row.argv, diff)
		}
	}
}

func TestOptionsOfOneLetterInOneWord(t *testing.T) {
	for _, line := range []string{
		"curl -sSu me:hunter2 https://x", "curl -fsSLume:hunter2 https://x", "zip -rP hunter2 a b", "unzip -oP hunter2 a", "ldapsearch -xw hunter2",
		"htpasswd -nbB me hunter2", "openssl enc -k hunter2 -in f", "mosquitto_pub -P hunter2", "keytool -storepass hunter2",
	} {
		if got := Redact(line); strings.Contains(got, "hunter2") || !strings.Contains(got, "«redacted:password»") {
			t.Errorf("%s: %s", line, got)
		}
	}
	for _, line := range []string{"curl -so file https://x", "zip -r a b", "htpasswd -nB me", "openssl req -key k -x509", "curl -s", "ldapsearch -x"} {
		if got := Redact(line); got != line {
			t.Errorf("%s: %s", line, got)
		}
	}
}

func TestANameSaysWhatItsValueIs(t *testing.T) {
	for _, row := range []struct{ name, value, want string }{
		{"password", "hunter2", "«redacted:password»"},
		{"password", "two words", "«redacted:password»"},
		{"api_key", "a1b2c3d4e5", "«redacted:key»"},
		{"password", "$PW", "$PW"},
		{"password_file", "x", "x"},
		{"command", "PASSWORD=hunter2 x", "PASSWORD=«redacted:password» x"},
		{"path", "/home/me", "/home/me"},
	} {
		if got := RedactNamed(row.name, row.value); got != row.want {
			t.Errorf("RedactNamed(%q, %q) = %q, want %q", row.name, row.value, got, row.want)
		}
	}
}

// TestTimeGrowsWithTheLength reads texts that would make a scanner that starts anew at each place take minutes.
func TestTimeGrowsWithTheLength(t *testing.T) {
	const size = 1 << 20
	for _, part := range []string{"a", "sk-", "eyJ", "eyJaaaaaaaaaaaaaaa.eyJ-", "ghp_", "://", "=", "a=", "password=", `"`, `'`, `'"`, "-----BEGIN ", pemBegin + "PRIVATE KEY",
		"mysql -p", "Bearer ", "password=\"", "x@tcp(", "\\", "Authorization: ", "((((", "SG.", "M" + of("a", 23) + ".", "Cookie: a=", "--password ", "<<<", " "} {
		text := of(part, size)
		start := time.Now()
		Redact(text)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%q repeated to 1 MiB takes %v", part, took)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, row := range placed {
		f.Add(row.text)
	}
	f.Add(github + `\"` + pem)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, found := range Find(text) {
			if found.Start < end || found.End <= found.Start || found.End > len(text) || found.Kind == "" {
				t.Fatalf("%q: %v after %d", text, found, end)
			}
			end = found.End
		}
		RedactArgv(strings.Split(text, "\n"))
	})
}

func BenchmarkFind(b *testing.B) {
	lines := ""
	for _, row := range placed[:20] {
		lines += "git commit -m 'what was done and why it was done'; go test ./... 2>&1 | tail -n 20\n" + row.text + "\n"
	}
	for name, text := range map[string]string{
		"lines":  of(lines, 1<<20),
		"base64": of("iVBORw0KGgoAAAANSUhEUgAA/9k+", 1<<20),
		"code":   of("func (s *scanner) add(kind string, start, end int) {\n\ts.found = append(s.found, Found{kind, start, end})\n}\n", 1<<20),
		"line":   "cd /home/me/project && PGPASSWORD=hunter2 psql -h db -c 'select 1' | head -n 20",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}
