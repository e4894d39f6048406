import tomllib


def settings():
    with open("config/models.toml", "rb") as file:
        return tomllib.load(file)
