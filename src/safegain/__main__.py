from safegain.cli import app

app(prog_name="safegain")
