from drover_bot import Bot, BotError

bot = Bot()


@bot.command
def greet(name: str) -> dict:
    """Greets somebody now."""
    if not name:
        raise BotError("a name must not be empty")
    text = f"{bot.config.get('greeting', 'hello')}, {name}"
    bot.log(text)
    return {"text": text}


@bot.main
def main() -> None:
    """Greets at intervals."""
    bot.status("greeting")
    greeted = 0
    while not bot.cancelled:
        greeted += 1
        bot.data(greeted=greeted)
        bot.sleep(bot.config.get("every_ms", 1000) / 1000)


if __name__ == "__main__":
    bot.run()
